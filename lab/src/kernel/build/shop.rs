// SPDX-License-Identifier: GPL-2.0-only
//! An apt that offers sources of a few lines.

use std::cell::{Cell, RefCell};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use super::*;
use crate::apt::{Cause, Index, Trouble};

/// Counts what is compiled in `compiled`, and says it as the kernel's makefiles do.
const MAKEFILE: &str = "\
tinyconfig:
\t@echo CONFIG_TINY=y >.config
olddefconfig:
\t@sed -i /CONFIG_UNKNOWN/d .config
\t@cat $(wildcard kernel/Kconfig) /dev/null >>.config
bzImage: fair.o core.o
\t@mkdir -p arch/x86/boot include/config
\t@echo 7.2.13$(LOCALVERSION) >include/config/kernel.release
\t@cat fair.o core.o $(wildcard kernel/sched/policy/*.h) >arch/x86/boot/bzImage
%.o: kernel/%.c
\t@echo '  CC      $@'
\t@echo $@ >>compiled
\t@if grep -q broken $<; then echo \"$<:1:1: error: this is broken\"; exit 1; fi
\t@trap '' TERM; if test -e ../../slow; then touch ../../begun; fi; \\
\twhile test -e ../../slow; do sleep 0.1; done
\t@if grep -q killed $<; then kill -KILL $$PPID; fi
\t@cp $< $@
clean:
\t@rm -f *.o
";

/// What apt would offer: versions and the text of their `kernel/fair.c`, the newest first.
pub(super) struct Shop {
    fair: Vec<(&'static str, &'static str)>,
    pub(super) kept: RefCell<Option<Index>>,
    pub(super) unreachable: Cell<bool>,
    pub(super) corrupt: Cell<bool>,
    pub(super) size: u64,
    asked: RefCell<Vec<String>>,
}

impl Shop {
    pub(super) fn new(fair: &[(&'static str, &'static str)]) -> Self {
        Self {
            fair: fair.to_vec(),
            kept: RefCell::default(),
            unreachable: Cell::new(false),
            corrupt: Cell::new(false),
            size: 1000,
            asked: RefCell::default(),
        }
    }

    pub(super) fn index(&self, fetched: u64) -> Index {
        let source = |(version, fair): &(&str, &str)| Source {
            package: format!("linux-source-{}", &version[..3]),
            version: version.to_string(),
            size: self.size,
            unpacked: 1000,
            sha256: hex(&Sha256::digest(fair)),
        };
        Index { fetched, images: Vec::new(), sources: self.fair.iter().map(source).collect() }
    }

    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.take()
    }
}

fn trouble(cause: Cause) -> Trouble {
    Trouble { cause, error: Failure::machine("no luck") }
}

impl Offer for Shop {
    fn kept(&self) -> Option<Index> {
        self.kept.borrow().clone()
    }

    fn refresh(&self, _: &Progress) -> Result<Index, Trouble> {
        self.asked.borrow_mut().push("index".into());
        if self.unreachable.get() {
            return Err(trouble(Cause::Unreachable));
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        self.kept.replace(Some(self.index(now)));
        Ok(self.index(now))
    }

    fn fetch(&self, source: &Source, folder: &Path, _: &Progress) -> Result<PathBuf, Trouble> {
        self.asked.borrow_mut().push(source.version.clone());
        if self.unreachable.get() {
            return Err(trouble(Cause::Unreachable));
        }
        let archive = folder.join("source.tar");
        if self.corrupt.get() {
            fs::write(&archive, "half an arch").unwrap();
            return Ok(archive);
        }
        let (_, fair) = self.fair.iter().find(|(version, _)| *version == source.version).unwrap();
        let tree = folder.join(&source.package);
        for (name, text) in [
            ("Makefile", MAKEFILE),
            ("kernel/fair.c", fair),
            ("kernel/core.c", "core\n"),
            ("arch/arm/Kconfig", "kept\n"),
            ("arch/arm/kernel/head.S", "left out\n"),
            ("Documentation/admin-guide/x.rst", "left out\n"),
        ] {
            fs::create_dir_all(tree.join(name).parent().unwrap()).unwrap();
            fs::write(tree.join(name), text).unwrap();
        }
        let mut tar = Command::new("tar");
        tar.arg("-C").arg(folder).arg("-cf").arg(&archive).arg(&source.package);
        assert!(tar.status().unwrap().success());
        fs::remove_dir_all(tree).unwrap();
        Ok(archive)
    }
}
