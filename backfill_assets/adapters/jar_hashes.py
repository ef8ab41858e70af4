"""Are these the jars that were published? Delta's, and those that reach S3, by their SHA-256, before a JVM loads any."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from backfill_assets.core.errors import SettingsError

PUBLISHED: Mapping[str, str] = {
    "io.delta_delta-kernel-api-4.4.0.jar": "ee9b5a14ac3b7efdff4d61a58478fe8eb0e5a3fbca43889dca7290795fe79a11",
    "io.delta_delta-kernel-defaults-4.4.0.jar": "225c975199e4718b38ee5b7e6da7f19e9585024262b2cec2656b32151a856b0b",
    "io.delta_delta-kernel-unitycatalog-4.4.0.jar": "cea22dfb4ac562b3cd27bf652697750e8336009d73fb06631363aaaad5345ffa",
    "io.delta_delta-spark_4.2_2.13-4.4.0.jar": "27d4fd8b1f879535c573ed1c718177d6a27f24d3e626ba02e216369725721ead",
    "io.delta_delta-storage-4.4.0.jar": "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc",
    "io.unitycatalog_unitycatalog-client-0.6.0.jar": "48257499a86b801a3e2372cec55ac226ca1c1c7eabe5c118e7302f29a1fdbc19",
    "io.unitycatalog_unitycatalog-hadoop-0.6.0.jar": "c47b63c961c87102b9e1d63809a0915ba4c86b7652f57c8d39ca3a05b441a150",
    "org.apache.hadoop_hadoop-aws-3.5.0.jar": "66bd9eefb938b1a1657487324b63c13df2d8b17164a1dd24e0ef37b905bc5baa",
    "org.reactivestreams_reactive-streams-1.0.4.jar": "f75ca597789b3dac58f61857b9ac2e1034a68fa672db35055a8fb4509e325f28",
    "software.amazon.awssdk_annotations-2.35.4.jar": "6f36bd87155d1dd85d6efbdd29e532e3759a022211feb71affebee1aa34f04b8",
    "software.amazon.awssdk_apache-client-2.35.4.jar": "6eade21b482724ed0a4613eaa95d20e47e7a81304bd28538ac427fece94a7740",
    "software.amazon.awssdk_arns-2.35.4.jar": "c63cc29f76a8527e9e10b621703163df541dc5cb315508dc2898518602c75380",
    "software.amazon.awssdk_auth-2.35.4.jar": "6b601323004833fb4a857ffc95db4795e0e6320eb93e64b1246c655c9ff04994",
    "software.amazon.awssdk_aws-core-2.35.4.jar": "fdb5fc8f1a48d97fa7d04d3460fb42f6973c7b1bbe1b9d317871ef0162bcb623",
    "software.amazon.awssdk_aws-query-protocol-2.35.4.jar": "9b4cf9b78977cc9f5b4ceae9c435dedbde6a055a0f8d9e053eaca945715e2a9f",
    "software.amazon.awssdk_aws-xml-protocol-2.35.4.jar": "4f59176da2522c357b1993e4a890fde529f12f365795ef86269bde4a3984cd0d",
    "software.amazon.awssdk_checksums-2.35.4.jar": "94464af4374d08ecf33ca06ed4d03e1615529e547726e26b56abacefbeee7948",
    "software.amazon.awssdk_checksums-spi-2.35.4.jar": "88b5af85ac2d3c862be8856be4e683ab31932e4a5a3c1c45af864d2671ac7cec",
    "software.amazon.awssdk_crt-core-2.35.4.jar": "2c6aaa17bf9ccbb9d962dded4351e73decb197e3c5519970e0dae17e05d3df62",
    "software.amazon.awssdk_endpoints-spi-2.35.4.jar": "ef02441bda916959b8341290b49c68cc35538e1ad6f8629b75d8334dc6653e00",
    "software.amazon.awssdk_http-auth-2.35.4.jar": "3ec933a06e751a05e195eb3589209e23c44e1897263b6fcae34ef4cc63cd4491",
    "software.amazon.awssdk_http-auth-aws-2.35.4.jar": "c4acb92fdec90bfd9b67bfab8e41b69cd152c03cacc10281a8ab464791856e01",
    "software.amazon.awssdk_http-auth-aws-eventstream-2.35.4.jar": "709107552f302be3fa9e05969a3779f5c0f07fb809e6fa1fa571a6f0c61326dd",
    "software.amazon.awssdk_http-auth-spi-2.35.4.jar": "4495463406bb98eb136f2c3f3604ed5f08ec9974ebc3f34f2121b20679f61d5c",
    "software.amazon.awssdk_http-client-spi-2.35.4.jar": "728be89b2a07b595edb0adee3a2cbbbdd4cb1f4caddde0d08c3979fe2620dedb",
    "software.amazon.awssdk_identity-spi-2.35.4.jar": "188d73db7d4e2361654bc3c5a1b3eaeb445d0500fb012cc46c5d67975adf97bf",
    "software.amazon.awssdk_json-utils-2.35.4.jar": "80d67a6bb3e7eb49c7d4b6e4ba4c1463ed7da0192b795158328602dc131c5ecc",
    "software.amazon.awssdk_metrics-spi-2.35.4.jar": "c2a4ee90a21081317e2e6eba0c414d05d3d518aed2f86b1c1710a7367b450487",
    "software.amazon.awssdk_netty-nio-client-2.35.4.jar": "b82f8b33e5c85273a47da45ede884d7ccb31c9c2f69e6910a76c5c48fa1275dc",
    "software.amazon.awssdk_profiles-2.35.4.jar": "0f4ef7ca72ccd80dd49ebeaf7f3ce60a7d7a00da59a91aeeae6e91052bbacbd8",
    "software.amazon.awssdk_protocol-core-2.35.4.jar": "f2532eca6ba2142fe4821d5decb03c83a3e15dc8bfae2240e7f2efa75f9868b5",
    "software.amazon.awssdk_regions-2.35.4.jar": "77eae87b34ce96ecdf916a9bc06684dbeafcb6d38ef0513285fa5d5d6d41f5ca",
    "software.amazon.awssdk_retries-2.35.4.jar": "f99fb2f8c66d7e859955b3542d3af8f9de8f23a21d5e3250f0f2c5f18487e469",
    "software.amazon.awssdk_retries-spi-2.35.4.jar": "668638751d059c527ddd41ffa4dcebe36a7c14860ed56776df09b861c14dc7dd",
    "software.amazon.awssdk_s3-2.35.4.jar": "f23532c5223be9b0bfec0d72837ed09ed34dbdf8022818ba145b20076a78b4bc",
    "software.amazon.awssdk_s3-transfer-manager-2.35.4.jar": "0eec78870b3d0abc509a847072cf963cb2ae6e360dc6161a9449b3398c470476",
    "software.amazon.awssdk_sdk-core-2.35.4.jar": "fa559a4ce598852f3519c8f3b36250f583b0858a7611eedc4a81997778c617f4",
    "software.amazon.awssdk_sts-2.35.4.jar": "8d0f7816d3f96e3f00249f5d054d926e939a104bcf9ef57676ee0b16c59684d2",
    "software.amazon.awssdk_third-party-jackson-core-2.35.4.jar": "32f4252c6c2df8f3a4aff885e6dc77024ad6b4cb48455d07b461ec30c41643ea",
    "software.amazon.awssdk_utils-2.35.4.jar": "642aeef536a071668f0b772f05f9d21573abf6955e7b6fb5fdb893760cca10e8",
    "software.amazon.awssdk_utils-lite-2.35.4.jar": "e004806def5e22ec98edc48a133ff3317166255e1ba29d93d129e9fdfa64a7be",
    "software.amazon.s3.analyticsaccelerator_analyticsaccelerator-s3-1.3.1.jar": "4959a9747cbb479c73c3ffbcd479bee5b014f8b2880994585a8693fb9d24675e",
    "software.amazon.eventstream_eventstream-1.0.1.jar": "0c37d8e696117f02c302191b8110b0d0eb20fa412fce34c3a269ec73c16ce822",
}
"""What Maven Central has of the versions that `spark-conf/` and `spark-conf/s3/` name, named as Ivy names it."""


def check_jars(jars: Iterable[Path]) -> None:
    """Raise SettingsError for a jar whose content is not what was published under its name; others pass."""
    for jar in jars:
        wanted = PUBLISHED.get(jar.name)
        if wanted is None:
            continue
        with jar.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != wanted:
            raise SettingsError(
                f"{jar} is not the jar that was published",
                why=f"its SHA-256 is {found}, and {wanted} was published",
                fix="remove it, then it is fetched again; where jars are put by hand, copy it again",
            )
