package backfill_assets;

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.InterruptedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.util.Arrays;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

import io.delta.storage.HadoopFileSystemLogStore;

/**
 * Delta's commits in S3, where the store itself decides which of two writers gets a number.
 *
 * <p>Delta's own log store for S3 looks whether the entry exists, and writes it then: of two processes, or after a
 * pause in between, the later one takes the place of the other. Here the entry is written with
 * <code>If-None-Match: *</code>, which the store refuses when there is one. Hadoop's S3A (from 3.4.2 on) sends that
 * only for who asks by its builder; another file system refuses to open the stream instead of overwriting.
 *
 * <p>A session that names its process in <code>backfill.writer</code> writes on only to tables whose newest writer, a
 * property of the table, it is, and to those that have none: who takes over makes that a commit. All entries below the
 * one that is written are there for good, so what they say cannot change before it is written: either it comes before
 * the commit of who took over, or it is refused, however long this process was paused and wherever.
 */
public final class ConditionalLogStore extends HadoopFileSystemLogStore {

    private static final String CONDITIONAL = "fs.option.create.conditional.overwrite";
    private static final String WRITER = "backfill.writer";
    private static final Pattern ENTRY = Pattern.compile("(\\d{20})\\.json");
    private static final Pattern SAID = Pattern.compile("\"backfill\\.writer\"\\s*:\\s*\"([^\"]*)\"");
    private static final int ATTEMPTS = 5;
    /** Of each log and writer, the newest entry up to which that writer is known to be the newest. */
    private static final Map<String, Long> SEEN = new ConcurrentHashMap<>();

    public ConditionalLogStore(Configuration hadoopConf) {
        super(hadoopConf);
    }

    @Override
    public void write(Path path, Iterator<String> actions, Boolean overwrite, Configuration hadoopConf)
            throws IOException {
        ByteArrayOutputStream lines = new ByteArrayOutputStream();
        while (actions.hasNext()) {
            lines.write((actions.next() + "\n").getBytes(StandardCharsets.UTF_8));
        }
        byte[] content = lines.toByteArray();
        FileSystem fs = path.getFileSystem(hadoopConf);
        if (overwrite) {
            put(fs.create(path, true), content);
            return;
        }
        String writer = hadoopConf.get(WRITER, "");
        Matcher entry = ENTRY.matcher(path.getName());
        if (writer.isEmpty() || !entry.matches()) {
            putIfAbsent(fs, path, content);
            return;
        }
        long number = Long.parseLong(entry.group(1));
        String key = path.getParent() + " " + writer;
        check(fs, path.getParent(), number, writer, SEEN.getOrDefault(key, -1L));
        putIfAbsent(fs, path, content);
        SEEN.merge(key, number, Math::max);
    }

    @Override
    public Boolean isPartialWriteVisible(Path path, Configuration hadoopConf) {
        return false;
    }

    /** Refuse when the newest entry below `number` that names a writer, of those after `seen`, names another one. */
    private static void check(FileSystem fs, Path log, long number, String writer, long seen) throws IOException {
        for (long at = number - 1; at > seen; at--) {
            String said = writerOf(fs, new Path(log, String.format("%020d.json", at)));
            if (said.equals(writer)) {
                return;
            }
            if (!said.isEmpty()) {
                throw new IOException("another process has taken over " + log.getParent() + " with commit " + at
                        + ": nothing more is written there by this one");
            }
        }
    }

    private static String writerOf(FileSystem fs, Path entry) throws IOException {
        String found = "";
        try (BufferedReader lines =
                new BufferedReader(new InputStreamReader(fs.open(entry), StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                Matcher said = SAID.matcher(line);
                if (line.startsWith("{\"metaData\"") && said.find()) {
                    found = said.group(1);
                }
            }
        }
        return found;
    }

    /** After any failure the store is asked what is there: an answer may be lost while the entry was stored. */
    private static void putIfAbsent(FileSystem fs, Path path, byte[] content) throws IOException {
        for (int attempt = 1; ; attempt++) {
            try {
                FSDataOutputStreamBuilder<?, ?> builder = fs.createFile(path);
                put(builder.overwrite(false).recursive().must(CONDITIONAL, true).build(), content);
                return;
            } catch (InterruptedIOException e) {
                throw e;
            } catch (IOException e) {
                byte[] there = read(fs, path);
                if (there != null) {
                    if (Arrays.equals(there, content)) {
                        return; // each commit has an id of its own: it is this one
                    }
                    FileAlreadyExistsException taken = new FileAlreadyExistsException(path.toString());
                    taken.initCause(e);
                    throw taken;
                }
                // S3 answers 409 to both of two requests that meet, too: it may be that neither was stored
                boolean met = String.valueOf(e.getMessage()).contains("ConditionalRequestConflict");
                if (!met || attempt == ATTEMPTS) {
                    throw e;
                }
            }
        }
    }

    private static void put(FSDataOutputStream stream, byte[] content) throws IOException {
        stream.write(content);
        stream.close(); // it is stored now, whole, or not at all
    }

    private static byte[] read(FileSystem fs, Path path) throws IOException {
        try (InputStream stream = fs.open(path)) {
            return stream.readAllBytes();
        } catch (FileNotFoundException e) {
            return null;
        }
    }
}
