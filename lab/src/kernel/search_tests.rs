// SPDX-License-Identifier: GPL-2.0-only
//! The search over offers of a test's own.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs;

use super::super::bzimage::tests::elf;
use super::super::store::tests::image;
use super::*;
use crate::btf::tests::{malformed, sound};
use crate::error::exit_status;

/// What apt would offer, and a record of what was asked of it.
#[derive(Default)]
struct Shop {
    files: BTreeMap<&'static str, Vec<u8>>,
    kept: RefCell<Option<Index>>,
    broken: Cell<Option<Cause>>,
    broken_fetch: Cell<Option<Cause>>,
    asked: RefCell<Vec<String>>,
}

impl Shop {
    fn new(kernels: &[(&'static str, bool)]) -> Self {
        let file = |is_sound| if is_sound { sound() } else { malformed() };
        let files = kernels.iter().map(|(release, ok)| (*release, elf(&file(*ok).bytes())));
        Self { files: files.collect(), ..Self::default() }
    }

    fn index(&self, fetched: u64) -> Index {
        let mut images: Vec<Image> = self.files.keys().map(|release| image(release)).collect();
        images.sort_by(|a, b| version::compare(&b.release, &a.release));
        Index { fetched, images, sources: Vec::new() }
    }

    fn asked(&self) -> Vec<String> {
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
        if let Some(cause) = self.broken.get() {
            return Err(trouble(cause));
        }
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let index = self.index(now.as_secs());
        self.kept.replace(Some(index.clone()));
        Ok(index)
    }

    fn fetch(&self, image: &Image, folder: &Path, _: &Progress) -> Result<PathBuf, Trouble> {
        self.asked.borrow_mut().push(image.release.clone());
        if let Some(cause) = self.broken_fetch.get() {
            return Err(trouble(cause));
        }
        let Some(file) = self.files.get(image.release.as_str()) else {
            return Err(trouble(Cause::Gone));
        };
        let path = folder.join("vmlinuz");
        fs::write(&path, file).unwrap();
        Ok(path)
    }
}

struct Lab {
    cache: tempfile::TempDir,
}

impl Lab {
    fn new() -> Self {
        Self { cache: tempfile::tempdir().unwrap() }
    }

    fn search(&self, series: Option<(u32, u32)>, shop: &Shop) -> Result<String, (u8, String)> {
        let progress = Progress::new();
        let store = Store::open(self.cache.path(), &progress).unwrap();
        let found = search(series, shop, &store, &progress);
        found.map(|kernel| kernel.release).map_err(|e| (exit_status(&e), e.to_string()))
    }
}

#[test]
fn goes_down_to_the_newest_sound_kernel_once() {
    let shop =
        Shop::new(&[("7.2.13", false), ("7.2.9", true), ("7.2.12", false), ("6.18.1", true)]);
    let lab = Lab::new();
    assert_eq!(lab.search(None, &shop).unwrap(), "7.2.9");
    assert_eq!(shop.asked(), ["index", "7.2.13", "7.2.12", "7.2.9"]);
    assert_eq!(lab.search(None, &shop).unwrap(), "7.2.9");
    assert_eq!(shop.asked(), [""; 0], "neither index nor kernel is fetched again");
    assert_eq!(lab.search(Some((6, 18)), &shop).unwrap(), "6.18.1");
    assert_eq!(shop.asked(), ["6.18.1"]);
}

#[test]
fn nothing_sound_names_the_newest_and_why() {
    let shop = Shop::new(&[("7.2.13", false), ("7.1.1", false), ("6.17.9", true)]);
    let lab = Lab::new();
    let (status, text) = lab.search(None, &shop).unwrap_err();
    assert_eq!(status, 3);
    assert!(text.starts_with("no sound kernel: newest seen: 7.2.13, because its type"), "{text}");
    assert!(text.contains("pahole"), "{text}");
    let (status, text) = lab.search(Some((7, 1)), &shop).unwrap_err();
    let wanted = "no sound kernel of series 7.1: newest seen: 7.1.1, because";
    assert_eq!((status, text.starts_with(wanted)), (3, true), "{text}");
    let (_, text) = lab.search(Some((6, 19)), &shop).unwrap_err();
    assert!(text.starts_with("no sound kernel of series 6.19: apt offers 7.2, 7.1;"), "{text}");
    let (_, text) = lab.search(None, &Shop::new(&[("6.12.107", true)])).unwrap_err();
    assert!(text.contains("newest seen: 6.12.107, because it is older than 6.18;"), "{text}");
    let (_, text) = Lab::new().search(None, &Shop::new(&[])).unwrap_err();
    assert!(text.starts_with("no sound kernel: apt offers no kernel image;"), "{text}");
}

#[test]
fn a_day_old_index_is_fetched_again_and_used_without_a_network() {
    let shop = Shop::new(&[("7.2.13", true)]);
    let lab = Lab::new();
    shop.kept.replace(Some(shop.index(1)));
    assert_eq!(lab.search(None, &shop).unwrap(), "7.2.13");
    assert_eq!(shop.asked(), ["index", "7.2.13"]);
    shop.kept.replace(Some(shop.index(1)));
    shop.broken.set(Some(Cause::Unreachable));
    assert_eq!(lab.search(None, &shop).unwrap(), "7.2.13");
    assert_eq!(shop.asked(), ["index"]);
    shop.kept.replace(None);
    assert_eq!(lab.search(None, &shop).unwrap(), "7.2.13", "what is kept needs no index");
    assert_eq!(lab.search(Some((7, 2)), &shop).unwrap(), "7.2.13");
}

#[test]
fn without_a_network_a_kept_kernel_does_and_none_is_an_error() {
    let old = Shop::new(&[("7.2.9", true)]);
    let lab = Lab::new();
    assert_eq!(lab.search(None, &old).unwrap(), "7.2.9");
    let shop = Shop::new(&[("7.2.13", true), ("7.2.12", true), ("7.2.9", true)]);
    shop.broken_fetch.set(Some(Cause::Unreachable));
    assert_eq!(lab.search(None, &shop).unwrap(), "7.2.9");
    assert_eq!(shop.asked(), ["index", "7.2.13"], "one try is enough");
    assert_eq!(Lab::new().search(None, &shop), Err((3, "no luck".into())));
    shop.broken.set(Some(Cause::Unreachable));
    assert_eq!(Lab::new().search(None, &shop), Err((3, "no luck".into())));
}

#[test]
fn a_package_that_is_gone_begins_again_with_a_new_index() {
    let stale = Shop::new(&[("7.2.12", true)]);
    let shop = Shop::new(&[("7.2.13", true)]);
    shop.kept.replace(Some(Index { fetched: u64::MAX, ..stale.index(0) }));
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    shop.kept.replace(Some(stale.index(now.as_secs())));
    assert_eq!(Lab::new().search(None, &shop).unwrap(), "7.2.13");
    assert_eq!(shop.asked(), ["7.2.12", "index", "7.2.13"]);
    shop.broken_fetch.set(Some(Cause::Gone));
    assert_eq!(Lab::new().search(None, &shop), Err((3, "no luck".into())));
    assert_eq!(shop.asked(), ["7.2.13", "index", "7.2.13"], "once");
}

#[test]
fn a_corrupt_package_is_an_error_and_nothing_is_kept() {
    let shop = Shop::new(&[("7.2.13", true), ("7.2.12", true)]);
    shop.broken_fetch.set(Some(Cause::Corrupt));
    let lab = Lab::new();
    assert_eq!(lab.search(None, &shop), Err((3, "no luck".into())));
    assert_eq!(shop.asked(), ["index", "7.2.13"]);
    assert!(!lab.cache.path().join("kernels/7.2.13").exists());
    shop.broken_fetch.set(None);
    assert_eq!(lab.search(None, &shop).unwrap(), "7.2.13");
}

#[test]
fn a_changed_kernel_is_fetched_again() {
    let shop = Shop::new(&[("7.2.13", true)]);
    let lab = Lab::new();
    lab.search(None, &shop).unwrap();
    fs::write(lab.cache.path().join("kernels/7.2.13/kernel"), b"").unwrap();
    shop.asked();
    assert_eq!(lab.search(None, &shop).unwrap(), "7.2.13");
    assert_eq!(shop.asked(), ["7.2.13"]);
}

#[test]
fn an_image_that_cannot_be_read_is_passed_over() {
    let mut shop = Shop::new(&[("7.2.12", true)]);
    shop.files.insert("7.2.13", b"what".to_vec());
    assert_eq!(Lab::new().search(None, &shop).unwrap(), "7.2.12");
}

#[test]
fn where_the_machine_cannot_a_file_is_the_other_way() {
    let unreachable = or_a_file(trouble(Cause::Unreachable));
    assert_eq!(unreachable.error.to_string(), "no luck, or name a kernel file with --kernel PATH");
    assert_eq!((unreachable.cause, exit_status(&unreachable.error)), (Cause::Unreachable, 3));
    assert_eq!(or_a_file(Trouble::corrupt("bad".into())).error.to_string(), "bad");
}
