"""File systems of Hadoop's other than this machine's own, which need no server.

`viewfs` is Hadoop's: names that stand for folders of other file systems. `slow` is ours: it copies
file by file where a folder is renamed, as object stores do, and takes its time. Of what is in a
folder LOCKED nobody may read a file, and nobody may write there.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import SparkSession

from tests import peers

LOCKED = "locked"
SLOW = """
import java.io.IOException;
import java.net.URI;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.security.AccessControlException;
import org.apache.hadoop.util.Progressable;

public class Slow extends RawLocalFileSystem {
  @Override public URI getUri() { return URI.create("slow:///"); }

  @Override public String getScheme() { return "slow"; }

  @Override public boolean rename(Path from, Path to) throws IOException {
    if (!exists(from)) return false;
    if (exists(to) && getFileStatus(to).isDirectory()) to = new Path(to, from.getName());
    move(from, to);
    return delete(from, true);
  }

  @Override public FSDataInputStream open(Path file, int buffer) throws IOException {
    allow(file, "READ");
    return super.open(file, buffer);
  }

  @Override public FSDataOutputStream create(Path file, boolean overwrite, int buffer,
      short copies, long block, Progressable progress) throws IOException {
    allow(file, "WRITE");
    return super.create(file, overwrite, buffer, copies, block, progress);
  }

  @Override public FSDataOutputStream create(Path file, FsPermission rights, boolean overwrite,
      int buffer, short copies, long block, Progressable progress) throws IOException {
    allow(file, "WRITE");
    return super.create(file, rights, overwrite, buffer, copies, block, progress);
  }

  @Override public boolean mkdirs(Path folder) throws IOException {
    allow(folder, "WRITE");
    return super.mkdirs(folder);
  }

  private static void allow(Path path, String what) throws IOException {
    if (path.toUri().getPath().contains("/locked/")) {
      throw new AccessControlException("Permission denied: user=ann, access=" + what
        + ", inode=\\"" + path.toUri().getPath() + "\\":hdfs:hdfs:drwxr-x---");
    }
  }

  private void move(Path from, Path to) throws IOException {
    if (getFileStatus(from).isDirectory()) {
      mkdirs(to);
      for (FileStatus each : listStatus(from)) {
        move(each.getPath(), new Path(to, each.getPath().getName()));
      }
    } else {
      pause();
      FileUtil.copy(this, from, this, to, false, true, getConf());
    }
  }

  private static void pause() throws IOException {
    try {
      Thread.sleep(Long.getLong("slow.milliseconds", 20));
    } catch (InterruptedException stopped) {
      throw new IOException(stopped);
    }
  }
}
"""


def compiled(folder: Path) -> Path:
    """The folder with the class of the file system `slow`; without javac the test is skipped."""
    peers.program("javac")
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "Slow.java"
    source.write_text(SLOW)
    jars = Path(pyspark.__file__).parent / "jars" / "*"
    command = ["javac", "-cp", str(jars), "-d", str(folder), str(source)]
    subprocess.run(command, check=True)
    return folder


def load_slow(spark: SparkSession, folder: Path) -> None:
    """Let a session on this machine know the file system `slow`."""
    session: Any = spark
    java = session._jvm.java
    url = java.io.File(f"{compiled(folder)}/").toURI().toURL()
    urls = session.sparkContext._gateway.new_array(java.net.URL, 1)
    urls[0] = url
    settings = session._jsc.hadoopConfiguration()
    settings.setClassLoader(java.net.URLClassLoader(urls, settings.getClassLoader()))
    spark.conf.set("fs.slow.impl", "Slow")


@contextmanager
def view(spark: SparkSession, folder: Path) -> Iterator[str]:
    """A URI that stands for a folder of this machine."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"view{abs(hash(str(folder)))}"
    key = f"fs.viewfs.mounttable.{name}.link./data"
    sessions = spark, SparkSession.active()  # a test before may have begun one of its own
    for each in sessions:
        each.conf.set(key, folder.as_uri())
    yield f"viewfs://{name}/data"
    for each in sessions:
        each.conf.unset(key)


@contextmanager
def other_default(spark: SparkSession, folder: Path) -> Iterator[None]:
    """A default file system, as a cluster has one, on which there is nothing."""
    before = spark.conf.get("fs.defaultFS", None)
    with view(spark, folder) as uri:
        spark.conf.set("fs.defaultFS", uri.removesuffix("/data"))
        try:
            yield
        finally:
            if before is None:
                spark.conf.unset("fs.defaultFS")
            else:
                spark.conf.set("fs.defaultFS", before)
    assert not list(folder.iterdir())
