// SPDX-License-Identifier: GPL-2.0-only
//! What a program needs besides itself: its interpreter and shared libraries, found in the order
//! in which the dynamic linker looks for them (ld.so(8)).

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::Result;
use object::elf;
use object::read::elf::{Dyn, FileHeader, ProgramHeader};
use object::Endianness;

use super::{File, Source};
use crate::error::Failure;

type Header = elf::FileHeader64<Endianness>;

/// Where the linker in the guest looks without any configuration, in its order.
const DEFAULT_FOLDERS: [&str; 6] = [
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
];
/// Scripts may name an interpreter that is itself a script, as deep as the kernel allows.
const SCRIPT_DEPTH: usize = 4;

/// What an ELF file says of its needs.
#[derive(Debug, Default, PartialEq, Eq)]
struct Needs {
    interpreter: Option<PathBuf>,
    libraries: Vec<String>,
    /// DT_RUNPATH (or the older DT_RPATH), `$ORIGIN` replaced.
    folders: Vec<PathBuf>,
}

/// `program`, its interpreter and the shared libraries that they need, each at the path that it
/// has on this machine; the program is the first.
pub fn closure(program: &Path) -> Result<Vec<File>> {
    let mut files = Vec::new();
    let mut next = Some(absolute(program)?);
    for _ in 0..=SCRIPT_DEPTH {
        let Some(program) = next.take() else { break };
        let bytes = read(&program)?;
        files.push(File::program(&program));
        match script_words(&bytes) {
            Some(words) => next = interpreters(&program, &words, &mut files)?,
            None => libraries(&program, &bytes, &mut files)?,
        }
    }
    match next {
        Some(_) => Err(Failure::usage(format!(
            "{}: its #! line leads from script to script; the last must be a program",
            program.display()
        ))),
        None => Ok(files),
    }
}

/// `path` from the root, its symbolic links untouched.
pub fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path)
        .map_err(|e| Failure::usage(format!("{}: not a usable path: {e}", path.display())))
}

/// Finds a command word: a path if it has a slash, else through `PATH` and the system's folders.
pub fn find_program(word: &str) -> Result<PathBuf> {
    if word.contains('/') {
        return absolute(Path::new(word));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"];
    std::env::split_paths(&path)
        .chain(system.iter().map(PathBuf::from))
        .map(|folder| folder.join(word))
        .find(|file| file.is_absolute() && file.is_file())
        .ok_or_else(|| {
            Failure::usage(format!("{word}: no such program in PATH; give its path or install it"))
        })
}

/// The words of a `#!` line.
fn script_words(bytes: &[u8]) -> Option<Vec<String>> {
    let line = bytes.strip_prefix(b"#!")?;
    let line = line.split(|&b| b == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    Some(line.split_whitespace().map(String::from).collect())
}

/// The program that runs a script; `env NAME` packs env and goes on with NAME.
fn interpreters(script: &Path, words: &[String], files: &mut Vec<File>) -> Result<Option<PathBuf>> {
    let Some(first) = words.first() else {
        return Err(Failure::usage(format!(
            "{}: its #! line names no interpreter",
            script.display()
        )));
    };
    let interpreter = PathBuf::from(first);
    if !interpreter.is_file() {
        return Err(Failure::usage(format!(
            "{}: its interpreter {first} is missing here; install it",
            script.display()
        )));
    }
    if interpreter.file_name() != Some(OsStr::new("env")) {
        return Ok(Some(interpreter));
    }
    let Some(name) = words[1..].iter().find(|w| !w.starts_with('-') && !w.contains('=')) else {
        return Ok(Some(interpreter));
    };
    files.push(File::program(&interpreter));
    libraries(&interpreter, &read(&interpreter)?, files)?;
    find_program(name).map(Some)
}

/// Appends the interpreter and all libraries, breadth first, each once.
fn libraries(program: &Path, bytes: &[u8], files: &mut Vec<File>) -> Result<()> {
    let mut needs = needs(program, bytes)?;
    let mut seen = BTreeSet::new();
    if let Some(interpreter) = needs.interpreter.take() {
        if !interpreter.is_file() {
            return Err(missing(program, &interpreter.to_string_lossy()));
        }
        if let Some(name) = interpreter.file_name() {
            seen.insert(name.to_string_lossy().into_owned());
        }
        files.push(File::program(&interpreter));
    }
    let mut queue = std::collections::VecDeque::from([needs]);
    let configured = configured_folders(Path::new("/etc/ld.so.conf"), 0);
    while let Some(needs) = queue.pop_front() {
        for name in &needs.libraries {
            if !seen.insert(name.clone()) {
                continue;
            }
            let (found, plain) = find_library(name, &needs.folders, &configured)
                .ok_or_else(|| missing(program, name))?;
            queue.push_back(self::needs(&found, &read(&found)?)?);
            files.push(File::program(&found));
            if !plain {
                // the guest has no ld.so.cache: a link where its linker looks anyway
                files.push(File {
                    to: format!("{}/{name}", &DEFAULT_FOLDERS[0][1..]),
                    from: Source::Link(found.to_string_lossy().into_owned()),
                    mode: 0o777,
                });
            }
        }
    }
    Ok(())
}

/// The library's path, and whether the guest's linker finds it there by itself.
fn find_library(name: &str, own: &[PathBuf], configured: &[PathBuf]) -> Option<(PathBuf, bool)> {
    if name.contains('/') {
        let path = PathBuf::from(name);
        return is_library(&path).then_some((path, true));
    }
    let look = |folder: &Path| Some(folder.join(name)).filter(|path| is_library(path));
    let plain = own.iter().map(PathBuf::as_path);
    let plain = plain.chain(DEFAULT_FOLDERS.iter().map(Path::new));
    for folder in plain {
        if let Some(path) = look(folder) {
            return Some((path, true));
        }
    }
    configured.iter().find_map(|folder| look(folder)).map(|path| (path, false))
}

/// An ELF file for this machine; the linker passes over others.
fn is_library(path: &Path) -> bool {
    let mut start = [0; 20];
    let read = fs::File::open(path).and_then(|mut f| std::io::Read::read_exact(&mut f, &mut start));
    read.is_ok() && &start[..5] == b"\x7fELF\x02" && start[18..20] == [62, 0]
}

/// Folders of ld.so.conf and of the files that it includes (`include DIR/*.conf`).
fn configured_folders(file: &Path, depth: usize) -> Vec<PathBuf> {
    let Ok(text) = fs::read_to_string(file) else { return Vec::new() };
    let mut folders = Vec::new();
    for line in text.lines().map(|l| l.split('#').next().unwrap_or_default().trim()) {
        match line.strip_prefix("include ") {
            Some(pattern) if depth < SCRIPT_DEPTH => {
                for file in included(file, Path::new(pattern.trim())) {
                    folders.extend(configured_folders(&file, depth + 1));
                }
            }
            _ if line.starts_with('/') => folders.push(PathBuf::from(line)),
            _ => (),
        }
    }
    folders
}

/// The files that match `DIR/*SUFFIX`, sorted; any other pattern is a plain path.
fn included(from: &Path, pattern: &Path) -> Vec<PathBuf> {
    let pattern = from.parent().unwrap_or(Path::new("/")).join(pattern);
    let (Some(folder), Some(name)) = (pattern.parent(), pattern.file_name()) else {
        return Vec::new();
    };
    let Some(suffix) = name.as_bytes().strip_prefix(b"*") else { return vec![pattern] };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries.map(|e| e.path()).collect();
    files.retain(|f| f.as_os_str().as_bytes().ends_with(suffix));
    files.sort();
    files
}

fn missing(program: &Path, name: &str) -> anyhow::Error {
    Failure::usage(format!(
        "{}: its library {name} is not found here; install it, or link the program statically",
        program.display()
    ))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|e| Failure::usage(format!("{}: cannot read: {e}", path.display())))
}

/// What `bytes`, the file at `path`, asks the dynamic linker for.
fn needs(path: &Path, bytes: &[u8]) -> Result<Needs> {
    let wrong = |what: &str| {
        Failure::usage(format!("{}: {what}; give an x86-64 Linux program", path.display()))
    };
    if !bytes.starts_with(b"\x7fELF") {
        return Err(wrong("neither a program nor a script with a #! line"));
    }
    let header = Header::parse(bytes).map_err(|_| wrong("not a 64-bit ELF file"))?;
    let endian = header.endian().map_err(|_| wrong("an ELF file of unknown byte order"))?;
    if header.e_machine(endian) != elf::EM_X86_64 {
        return Err(wrong("built for another machine"));
    }
    parse_needs(path, header, endian, bytes)
        .map_err(|e| wrong(&format!("a damaged ELF file ({e})")))
}

fn parse_needs(
    path: &Path,
    header: &Header,
    endian: Endianness,
    bytes: &[u8],
) -> object::read::Result<Needs> {
    let mut needs = Needs::default();
    let segments = header.program_headers(endian, bytes)?;
    for segment in segments {
        if let Some(name) = segment.interpreter(endian, bytes)? {
            needs.interpreter = Some(PathBuf::from(OsStr::from_bytes(name)));
        }
    }
    let mut dynamic: &[elf::Dyn64<Endianness>] = &[];
    for segment in segments {
        dynamic = segment.dynamic(endian, bytes)?.unwrap_or(dynamic);
    }
    let value = |tag: u32| {
        let entry = dynamic.iter().find(|d| d.d_tag(endian) == u64::from(tag));
        entry.map(|d| d.d_val(endian))
    };
    let (Some(table), Some(size)) = (value(elf::DT_STRTAB), value(elf::DT_STRSZ)) else {
        return Ok(needs);
    };
    let mut strings: &[u8] = &[];
    for segment in segments {
        strings = segment.data_range(endian, bytes, table, size).ok().flatten().unwrap_or(strings);
    }
    let text = |offset: u64| {
        let rest = strings.get(offset as usize..).unwrap_or_default();
        String::from_utf8_lossy(rest.split(|&b| b == 0).next().unwrap_or_default()).into_owned()
    };
    let listed = dynamic.iter().filter(|d| d.d_tag(endian) == u64::from(elf::DT_NEEDED));
    needs.libraries = listed.map(|d| text(d.d_val(endian))).collect();
    if let Some(at) = value(elf::DT_RUNPATH).or(value(elf::DT_RPATH)) {
        let origin = path.parent().unwrap_or(Path::new("/")).to_string_lossy().into_owned();
        let folders = text(at).replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin);
        needs.folders =
            folders.split(':').filter(|f| f.starts_with('/')).map(PathBuf::from).collect();
    }
    Ok(needs)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use std::process::Command;

    use super::*;

    fn names(files: &[File]) -> Vec<&str> {
        files.iter().map(|f| f.to.as_str()).collect()
    }

    fn message(program: &Path) -> String {
        let error = closure(program).expect_err("must fail");
        assert_eq!(crate::error::exit_status(&error), 2, "{error}");
        let text = error.to_string();
        assert!(!text.contains('\n') && text.contains(&*program.to_string_lossy()), "{text}");
        text
    }

    #[test]
    fn closure_of_a_real_program() {
        let files = closure(Path::new("/bin/sh")).unwrap();
        let names = names(&files);
        assert_eq!(names[0], "bin/sh");
        assert!(names.contains(&"lib64/ld-linux-x86-64.so.2"), "{names:?}");
        assert!(names.iter().any(|n| n.ends_with("/libc.so.6")), "{names:?}");
    }

    #[test]
    fn closure_of_a_script_has_its_interpreters() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("s");
        fs::write(&script, "#!/usr/bin/env -S sh -e\ntrue\n").unwrap();
        let files = closure(&script).unwrap();
        let names = names(&files);
        assert_eq!(names[0], &script.to_str().unwrap()[1..]);
        assert!(names.contains(&"usr/bin/env"), "{names:?}");
        assert!(names.iter().any(|n| n.ends_with("bin/sh")), "{names:?}");
    }

    #[test]
    fn bad_programs_get_one_line() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f");
        assert!(message(&file).contains("cannot read"));
        for (bytes, what) in [
            (&b""[..], "neither a program nor a script"),
            (b"#!\n", "names no interpreter"),
            (b"#!/no/such/interpreter -x\n", "/no/such/interpreter is missing"),
            (b"\x7fELF", "not a 64-bit ELF"),
        ] {
            fs::write(&file, bytes).unwrap();
            let text = message(&file);
            assert!(text.contains(what), "{text}");
        }
        fs::write(&file, format!("#!{}\n", file.display())).unwrap();
        assert!(message(&file).contains("script to script"));
    }

    #[test]
    fn cut_programs_never_panic() {
        let whole = fs::read("/bin/sh").unwrap();
        for length in (0..4096).step_by(7).chain([whole.len() / 2, whole.len() - 1]) {
            let _ = needs(Path::new("/bin/sh"), &whole[..length]);
        }
        for at in 0..1024 {
            let mut bytes = whole.clone();
            bytes[at] ^= 0xff;
            let _ = needs(Path::new("/bin/sh"), &bytes);
        }
    }

    #[test]
    fn missing_library_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("l.c"), "int f(void) { return 0; }\n").unwrap();
        fs::write(at("p.c"), "int f(void); int main(void) { return f(); }\n").unwrap();
        let gcc = |args: &[&str]| Command::new("gcc").args(args).current_dir(&folder).status();
        let Ok(status) = gcc(&["-shared", "-o", "libfake7.so", "l.c"]) else {
            eprintln!("skipped: no gcc to build a program with");
            return;
        };
        assert!(status.success());
        let link = ["-o", "p", "p.c", "-L.", "-lfake7", "-Wl,-rpath,$ORIGIN"];
        assert!(gcc(&link).unwrap().success());
        let files = closure(&at("p")).unwrap();
        assert!(files.iter().any(|f| f.to.ends_with("/libfake7.so")));
        fs::remove_file(at("libfake7.so")).unwrap();
        assert!(message(&at("p")).contains("libfake7.so"));
    }

    #[test]
    fn configuration_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let main = folder.path().join("ld.so.conf");
        fs::create_dir(folder.path().join("d")).unwrap();
        fs::write(&main, "include d/*.conf # more\n/last\nnot a folder\n").unwrap();
        fs::write(folder.path().join("d/b.conf"), "/b\n").unwrap();
        fs::write(folder.path().join("d/a.conf"), "/a1\n/a2\n").unwrap();
        fs::write(folder.path().join("d/c.txt"), "/c\n").unwrap();
        let found = configured_folders(&main, 0);
        assert_eq!(found, ["/a1", "/a2", "/b", "/last"].map(PathBuf::from));
    }
}
