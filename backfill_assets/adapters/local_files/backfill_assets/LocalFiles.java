package backfill_assets;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * Hadoop's files on a local disk, without a process for each of them. Hadoop sets the permissions of every file and
 * folder that it makes, and starts `chmod` to do so where its native library is not, as with PySpark: of a table of a
 * file a day that was most of what writing took. It starts `readlink` for every file that is renamed, as in a commit of
 * Delta's.
 */
public final class LocalFiles extends LocalFileSystem {
    public LocalFiles() {
        super(new Raw());
    }

    static final class Raw extends RawLocalFileSystem {
        /** What `chmod` would do: nothing, a system call, or what only that knows. */
        @Override
        public void setPermission(org.apache.hadoop.fs.Path path, FsPermission permission) throws IOException {
            Path file = pathToFile(path).toPath();
            int wanted = permission.toShort();
            int found;
            try {
                found = (Integer) Files.getAttribute(file, "unix:mode") & 07777;
            } catch (IllegalArgumentException | UnsupportedOperationException noPosix) {
                super.setPermission(path, permission);
                return;
            }
            if (found == wanted) {
                return;
            }
            if ((found | wanted) > 0777) { // a folder keeps its group for what is made in it
                super.setPermission(path, permission);
                return;
            }
            String symbols = permission.getUserAction().SYMBOL
                + permission.getGroupAction().SYMBOL
                + permission.getOtherAction().SYMBOL;
            Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(symbols));
        }

        /** Of what is no link, what it is. */
        @Override
        public FileStatus getFileLinkStatus(org.apache.hadoop.fs.Path path) throws IOException {
            boolean link = Files.isSymbolicLink(pathToFile(path).toPath());
            return link ? super.getFileLinkStatus(path) : getFileStatus(path);
        }
    }
}
