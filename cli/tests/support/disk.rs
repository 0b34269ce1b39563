//! Small file systems, which end with their test.

use std::env;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

/// A folder on a file system of its own, in a namespace that other processes do not see.
pub(crate) struct Disk {
    /// A process whose end is that of the namespace.
    holder: Child,
    enter: &'static [&'static str],
    folder: TempDir,
    /// The line that the script has printed.
    pub(crate) printed: String,
}

impl Disk {
    /// A file system of 64 KiB in memory.
    pub(crate) fn small() -> Option<Disk> {
        let mount = "mount -t tmpfs -o size=64k none \"$0\" && echo mounted";
        Disk::mount(&["--map-root-user"], &["--user", "--preserve-credentials"], mount)
    }

    /// An ext4 whose errors make it read-only. Prints the name of its device.
    pub(crate) fn failing() -> Option<Disk> {
        let mount = "mount -t tmpfs none /mnt && truncate -s 8M /mnt/disk && mkfs.ext4 -q /mnt/disk && \
                     mount -o loop,errors=remount-ro /mnt/disk \"$0\" && rmdir \"$0/lost+found\" && \
                     basename \"$(findmnt -no SOURCE \"$0\")\"";
        Disk::mount(&[], &[], mount)
    }

    /// Runs a script that mounts something on the folder `$0` and prints a line. `None` where that is not permitted, which
    /// is listed among what is left out.
    fn mount(unshare: &[&str], enter: &'static [&'static str], script: &str) -> Option<Disk> {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = Command::new("unshare");
        command.args(unshare).args(["--mount", "sh", "-c", &format!("{script} && exec cat")]).arg(folder.path());
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut holder = piped.spawn().map_err(|error| leave_out(&error.to_string())).ok()?;
        let mut printed = String::new();
        let stdout = holder.stdout.as_mut().expect("a pipe");
        BufReader::new(stdout).read_line(&mut printed).expect("UTF-8");
        if printed.is_empty() {
            let mut why = String::new();
            holder.stderr.take().expect("a pipe").read_to_string(&mut why).expect("UTF-8");
            holder.wait().expect("it ends");
            leave_out(why.trim());
            return None;
        }
        Some(Disk { holder, enter, folder, printed: printed.trim().to_owned() })
    }

    /// The path of a file, for the test; `.` is the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        let folder = self.folder.path().strip_prefix("/").expect("an absolute path");
        PathBuf::from(format!("/proc/{}/root", self.holder.id())).join(folder).join(name)
    }

    /// Moves a command into the folder.
    pub(crate) fn inside(&self, command: &Command) -> Command {
        let mut inside = Command::new("nsenter");
        inside.args(["--target", &self.holder.id().to_string(), "--mount"]).args(self.enter);
        inside.args(["sh", "-c", "cd \"$0\" && exec \"$@\""]).arg(self.folder.path());
        inside.arg(command.get_program()).args(command.get_args());
        inside
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // It has ended then.
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

/// Adds to the checks for which the machine lacks something, as `.ci/run` lists them.
fn leave_out(why: &str) {
    let line = format!("tests of disks: mounting is not permitted: {}", why.lines().next().unwrap_or_default());
    eprintln!("{line}");
    let listed = env::var_os("LEFT_OUT")
        .map_or(Ok(()), |list| -> io::Result<()> { writeln!(File::options().append(true).open(list)?, "{line}") });
    listed.expect("a list");
}
