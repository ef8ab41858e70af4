#!/usr/bin/env bash
# Spark's launcher reads this before each start. Java's DriverManager finds the PostgreSQL driver on the JVM's own class
# path only, not among spark.jars.packages: name the fetched jar there. (The backfill command does so by itself.)

for jar in "${HOME}"/.ivy2.5.2/jars/org.postgresql_postgresql-*.jar; do
  if [ -f "${jar}" ]; then
    SPARK_DIST_CLASSPATH="${jar}${SPARK_DIST_CLASSPATH:+:${SPARK_DIST_CLASSPATH}}"
  fi
done
export SPARK_DIST_CLASSPATH
