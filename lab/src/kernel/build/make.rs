// SPDX-License-Identifier: GPL-2.0-only
//! Runs make on a tree and turns its complaints into one line.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, LineWriter, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Result;

use super::tree::{cannot, remove, Tree};
use super::Kind;
use crate::apt::Lock;
use crate::error::Failure;
use crate::progress::Progress;

/// Programs that a kernel's build runs, and the Debian and Ubuntu packages that hold them.
const TOOLS: [(&str, &str); 8] = [
    ("gcc", "gcc"),
    ("ld", "binutils"),
    ("make", "make"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
    ("tar", "tar"),
    ("xz", "xz-utils"),
];

/// What every make is told: the same bytes, whoever builds, where and when.
const FIXED: [(&str, &str); 5] = [
    ("LC_ALL", "C"),
    ("KBUILD_BUILD_TIMESTAMP", "Thu Jan  1 00:00:00 UTC 1970"),
    ("KBUILD_BUILD_USER", "ballast"),
    ("KBUILD_BUILD_HOST", "ballast"),
    ("KBUILD_BUILD_VERSION", "1"),
];

/// Of the user's environment, what would change the kernel or the way to it.
const FOREIGN: [&str; 16] = [
    "ARCH",
    "CC",
    "CFLAGS",
    "CROSS_COMPILE",
    "HOSTCC",
    "HOSTCFLAGS",
    "KAFLAGS",
    "KBUILD_OUTPUT",
    "KCFLAGS",
    "KCONFIG_ALLCONFIG",
    "KCONFIG_CONFIG",
    "LDFLAGS",
    "LLVM",
    "LOCALVERSION",
    "MAKEFLAGS",
    "O",
];

/// The compiler and the linker by their versions; an error names every package that is missing.
pub fn tools() -> Result<String> {
    let version = |program: &str| {
        let output = Command::new(program).arg("--version").env("LC_ALL", "C").output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout);
        output.status.success().then(|| text.lines().next().unwrap_or_default().trim().to_string())
    };
    let found = TOOLS.map(|(program, _)| version(program));
    let mut missing: Vec<&str> = TOOLS.iter().map(|(_, package)| *package).collect();
    let mut present = found.iter().map(Option::is_some);
    missing.retain(|_| !present.next().unwrap_or(false));
    // objtool, which every kernel of ours is built with, needs it.
    if found[0].is_some() && !has_header("libelf.h") {
        missing.push("libelf-dev");
    }
    match (&found[0], &found[1], missing.is_empty()) {
        (Some(compiler), Some(linker), true) => Ok(format!("{compiler}, {linker}")),
        _ => Err(Failure::machine(format!(
            "building a kernel takes more than this machine has: install the packages {}",
            missing.join(" ")
        ))),
    }
}

fn has_header(name: &str) -> bool {
    let mut gcc = Command::new("gcc");
    gcc.args(["-E", "-include", name, "-x", "c", "/dev/null"]);
    let status = gcc.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// Makes in one tree.
pub struct Make<'a> {
    tree: &'a Tree,
    kind: Kind,
    jobs: usize,
    lock: &'a Lock,
    progress: &'a Progress,
}

impl<'a> Make<'a> {
    /// `jobs` commands at a time.
    pub fn new(
        tree: &'a Tree,
        kind: Kind,
        jobs: usize,
        lock: &'a Lock,
        progress: &'a Progress,
    ) -> Self {
        Self { tree, kind, jobs, lock, progress }
    }

    /// Configures the tree by these options, unless that was done with the same `inputs`: what else
    /// the configuration depends on.
    pub fn configure(&self, options: &[u8], inputs: &[u8]) -> Result<()> {
        let (done, file) = (self.tree.about("config"), self.tree.folder().join(".config"));
        let wanted = [options, b"\n", inputs].concat();
        if file.exists() && fs::read(&done).is_ok_and(|kept| kept == wanted) {
            return Ok(());
        }
        self.progress.phase("configuring");
        remove(&done)?;
        self.make("tinyconfig", &|_, _| {})?;
        let append = || {
            let mut minimal = fs::read(&file)?;
            minimal.extend_from_slice(options);
            fs::write(&file, minimal)
        };
        append().map_err(|e| cannot(&file, e))?;
        self.make("olddefconfig", &|_, _| {})?;
        let all = fs::read(&file).map_err(|e| cannot(&file, e))?;
        check_options(&String::from_utf8_lossy(options), &String::from_utf8_lossy(&all))?;
        fs::write(&done, wanted).map_err(|e| cannot(&done, e))
    }

    /// Builds the image; says how far it is.
    pub fn image(&self) -> Result<PathBuf> {
        let building = self.tree.about("building");
        if building.exists() {
            self.sweep(&building)?;
        }
        fs::write(&building, boot_id()).map_err(|e| cannot(&building, e))?;
        self.progress.phase(&format!("building with {} jobs", self.jobs));
        self.make("bzImage", &|steps, what| {
            self.progress.set(&format!("building: {steps} steps so far, {what}"));
        })?;
        remove(&building)?;
        Ok(self.tree.folder().join("arch/x86/boot/bzImage"))
    }

    /// A build was killed in this tree. make itself, when it is interrupted, removes what it was
    /// writing; where it was killed with everything else, a file may be cut short and look new.
    /// The kernel's makefiles note a file's command behind it: a file newer than its note is made
    /// again. After the machine itself went down no file is trusted.
    fn sweep(&self, building: &Path) -> Result<()> {
        self.progress.phase("mending an interrupted build");
        if fs::read_to_string(building).ok() != Some(boot_id()) {
            return self.make("clean", &|_, _| {});
        }
        let mut folders = vec![self.tree.folder().to_path_buf()];
        while let Some(folder) = folders.pop() {
            let entries = fs::read_dir(&folder).map_err(|e| cannot(&folder, e))?;
            for entry in entries.flatten() {
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push(entry.path());
                } else if let Some(file) = unfinished(&folder, &entry.file_name().to_string_lossy())
                {
                    remove(&file)?;
                }
            }
        }
        Ok(())
    }

    /// Runs make for one target; `step` gets every command's number and what it makes.
    fn make(&self, target: &str, step: &dyn Fn(usize, &str)) -> Result<()> {
        let log = self.log();
        let failed = |why: &str| {
            Failure::failed(format!("make {target}: {why}; all it said is in {}", log.display()))
        };
        // One pipe for both outputs keeps their order.
        let mut command = Command::new("sh");
        command.args(["-c", "exec \"$@\" 2>&1", "sh", "make", "-C"]).arg(self.tree.folder());
        command.arg(format!("-j{}", self.jobs));
        command.arg(format!("LOCALVERSION=-{}", self.kind.word())).arg(target);
        for name in FOREIGN {
            command.env_remove(name);
        }
        command.envs(FIXED).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        self.lock.pass_to(&mut command);
        // SAFETY: prctl and getppid allocate nothing.
        unsafe { command.pre_exec(ends_with(std::process::id())) };
        let mut begin = || Ok((File::create(&log)?, command.spawn()?));
        let (file, mut child) = begin().map_err(|e: io::Error| failed(&e.to_string()))?;
        let mut file = LineWriter::new(file);
        let (mut steps, mut complaint) = (0, None);
        for line in child.stdout.take().into_iter().flat_map(|out| BufReader::new(out).split(b'\n'))
        {
            let Ok(line) = line else { break };
            let line = String::from_utf8_lossy(&line);
            // The log is for people to read after a failure: without it make still goes on.
            let _ = writeln!(file, "{line}");
            if let Some(what) = step_of(&line) {
                steps += 1;
                step(steps, what);
            } else if complaint.is_none() && is_complaint(&line) {
                complaint = Some(line.trim().to_string());
            }
        }
        let _ = file.flush();
        let status = child.wait().map_err(|e| failed(&e.to_string()))?;
        match (status.success(), complaint) {
            (true, _) => Ok(()),
            (false, Some(line)) => Err(failed(&line)),
            (false, None) => Err(failed(&format!("it ended with {status}"))),
        }
    }

    /// All that the last make said.
    pub fn log(&self) -> PathBuf {
        self.tree.about("log")
    }
}

/// The file whose note, as the kernel's makefiles write it, `name` is, when it is newer than that.
fn unfinished(folder: &Path, name: &str) -> Option<PathBuf> {
    let file = folder.join(name.strip_prefix('.')?.strip_suffix(".cmd")?);
    let age = |path: &Path| fs::metadata(path).and_then(|about| about.modified()).ok();
    (age(&file)? > age(&folder.join(name))?).then_some(file)
}

/// Every option that was asked for is as it was asked: one whose dependencies are not met, or that
/// this source does not know, would be left out without a word.
fn check_options(asked: &str, all: &str) -> Result<()> {
    // The last word on an option counts.
    let asked: BTreeMap<&str, &str> = asked.lines().filter_map(option).collect();
    let all: BTreeMap<&str, &str> = all.lines().filter_map(option).collect();
    // One that is off may not be mentioned at all.
    let taken = |name: &str| all.get(name).copied().unwrap_or("n");
    match asked.iter().find(|(name, value)| taken(name) != **value) {
        None => Ok(()),
        Some((name, value)) => Err(Failure::failed(format!(
            "the configuration asks for {name}={value}, and this kernel makes it {name}={}: its \
             dependencies say so, or it has no such option",
            taken(name)
        ))),
    }
}

/// `CONFIG_SMP=y`, or `# CONFIG_SMP is not set`, which says `n`.
fn option(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_end();
    match line.strip_prefix("# ").and_then(|rest| rest.strip_suffix(" is not set")) {
        Some(name) => Some((name, "n")),
        None => line.split_once('=').filter(|(name, _)| name.starts_with("CONFIG_")),
    }
}

/// `  CC      kernel/sched/fair.o`: what is made.
fn step_of(line: &str) -> Option<&str> {
    let (tag, what) = line.strip_prefix("  ")?.split_once(' ')?;
    let tag = !tag.is_empty() && tag.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit());
    tag.then(|| what.trim())
}

fn is_complaint(line: &str) -> bool {
    ["error:", "Error:", "*** ", "No space left", "undefined reference", "cannot find"]
        .iter()
        .any(|word| line.contains(word))
}

/// Changes with every start of this machine; empty where the kernel does not tell.
fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}

/// Asks the kernel to interrupt make, which then ends what it started, when we end.
fn ends_with(parent: u32) -> impl FnMut() -> io::Result<()> {
    move || {
        // SAFETY: prctl with PR_SET_PDEATHSIG and getppid take no pointers.
        let orphan = unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
            libc::getppid() as u32 != parent
        };
        if orphan {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::error::exit_status;

    #[test]
    fn steps_and_complaints_are_told_apart() {
        assert_eq!(step_of("  CC      kernel/sched/fair.o"), Some("kernel/sched/fair.o"));
        assert_eq!(step_of("  CC [M]  x.o"), Some("[M]  x.o"));
        assert_eq!(
            step_of("  OBJCOPY arch/x86/boot/vmlinux.bin"),
            Some("arch/x86/boot/vmlinux.bin")
        );
        for line in ["", "  ", "CC x.o", "  made it", "make[1]: Entering directory '/x'"] {
            assert_eq!(step_of(line), None, "{line}");
        }
        assert!(is_complaint("kernel/sched/fair.c:7:9: error: 'x' undeclared"));
        assert!(is_complaint("make[4]: *** No rule to make target 'a.o', needed by 'b'.  Stop."));
        assert!(!is_complaint("  CC      drivers/base/error.o"));
    }

    #[test]
    fn options_that_are_not_taken_are_named() {
        let all = "# made by hand\nCONFIG_SMP=y\nCONFIG_NR_CPUS=64\n# CONFIG_EXT4_FS is not set\n";
        let check = |asked: &str| check_options(asked, all).map_err(|e| e.to_string());
        assert!(check("# the machine\nCONFIG_SMP=y\nCONFIG_NR_CPUS=64\n").is_ok());
        assert!(check("# CONFIG_EXT4_FS is not set\n# CONFIG_NO_SUCH is not set\n").is_ok());
        assert!(check("CONFIG_SMP=n\nCONFIG_SMP=y\n").is_ok(), "the last word counts");
        let told = check("CONFIG_NUMA=y\n").unwrap_err();
        assert!(told.contains("asks for CONFIG_NUMA=y, and this kernel makes it CONFIG_NUMA=n"));
        assert!(check("CONFIG_NR_CPUS=6\n").unwrap_err().contains("CONFIG_NR_CPUS=64"));
        assert!(check("# CONFIG_SMP is not set\n").is_err());
        assert!(check("CONFIG_SMP=n\n").is_err());
    }

    #[test]
    fn a_file_newer_than_its_note_is_unfinished() {
        let folder = tempfile::tempdir().unwrap();
        let (file, note) = (folder.path().join("fair.o"), folder.path().join(".fair.o.cmd"));
        let age = |path: &Path, seconds| {
            let file = File::options().write(true).create(true).truncate(true).open(path).unwrap();
            file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds))
                .unwrap();
        };
        age(&note, 100);
        assert_eq!(unfinished(folder.path(), ".fair.o.cmd"), None, "there is no file");
        age(&file, 100);
        assert_eq!(unfinished(folder.path(), ".fair.o.cmd"), None);
        age(&file, 101);
        assert_eq!(unfinished(folder.path(), ".fair.o.cmd"), Some(file));
        assert_eq!(unfinished(folder.path(), "fair.o"), None);
    }

    #[test]
    fn missing_tools_are_all_named() {
        // PATH is this process's own: what is there is asked in a process of its own elsewhere.
        if let Err(error) = tools() {
            assert_eq!(exit_status(&error), 3);
            assert!(error.to_string().contains("install the packages "), "{error}");
        }
    }
}
