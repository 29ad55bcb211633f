// SPDX-License-Identifier: GPL-2.0-only
//! Why this machine cannot run a sched_ext scheduler now: asked before anything is loaded, so that
//! a user reads a cause and a remedy instead of libbpf's `Invalid argument`.

use std::fs;
use std::path::Path;

use libbpf_rs::btf::types::{Func, FuncProto};
use libbpf_rs::btf::Btf;
use libbpf_rs::ReferencesType as _;

/// The first kfunc whose public prototype shows the hidden `aux` parameter: the kernel was built
/// with a pahole (before 1.31) that does not tag such kfuncs, and no scheduler that uses one loads.
pub fn malformed_kfunc(btf: &Btf<'_>) -> Option<String> {
    (1..btf.len() as u32).find_map(|id| {
        let func: Func<'_> = btf.type_by_id(id.into())?;
        let name = func.name()?.to_str()?;
        if !name.starts_with("scx_bpf_") || name.ends_with("_impl") {
            return None;
        }
        let proto: FuncProto<'_> = btf.type_by_id(func.referenced_type_id())?;
        let hidden = proto.iter().any(|p| p.name.is_some_and(|n| n == "aux"));
        hidden.then(|| name.to_owned())
    })
}

/// The reason to refuse, in one line; `sys` is `/sys`.
pub fn reason(sys: &Path, root: bool) -> Option<String> {
    let scx = sys.join("kernel/sched_ext");
    let Ok(state) = fs::read_to_string(scx.join("state")) else {
        return Some(
            "this kernel has no sched_ext (/sys/kernel/sched_ext is missing): \
             boot one from 6.18 on that was built with CONFIG_SCHED_CLASS_EXT"
                .into(),
        );
    };
    if !root {
        return Some("not root: loading a scheduler needs root; try it with sudo".into());
    }
    if state.trim() != "disabled" {
        let other = fs::read_to_string(scx.join("root/ops")).unwrap_or_default();
        return Some(format!(
            "another sched_ext scheduler is loaded ({}): end that one first",
            if other.trim().is_empty() { state.trim() } else { other.trim() }
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Type information that holds these functions with these parameters, as the kernel's
    /// `.BTF` section would: types 2 n - 1 are prototypes, 2 n functions.
    fn btf(functions: &[(&str, &[&str])]) -> Btf<'static> {
        const FUNC: u32 = 12;
        const FUNC_PROTO: u32 = 13;
        const STATIC: u32 = 0;
        let (mut types, mut strings) = (Vec::new(), vec![0]);
        let mut name = |name: &str| {
            let at = strings.len() as u32;
            strings.extend([name.as_bytes(), b"\0"].concat());
            at
        };
        for (i, (function, parameters)) in (0u32..).zip(functions) {
            types.extend([0, FUNC_PROTO << 24 | parameters.len() as u32, 0]);
            for parameter in *parameters {
                types.extend([name(parameter), 0]);
            }
            types.extend([name(function), FUNC << 24 | STATIC, 2 * i + 1]);
        }
        let (bytes, end) = (4 * types.len() as u32, strings.len() as u32);
        let header = [0x0001_eb9f, 24, 0, bytes, bytes, end];
        let words = header.iter().chain(&types).flat_map(|word| word.to_le_bytes());
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("btf");
        fs::write(&file, words.chain(strings.iter().copied()).collect::<Vec<u8>>()).unwrap();
        Btf::from_path(&file).unwrap()
    }

    #[test]
    fn a_kfunc_that_shows_its_hidden_parameter_is_named() {
        let sound: [(&str, &[&str]); 4] = [
            ("scx_bpf_kick_cpu", &["cpu", "flags"]),
            ("scx_bpf_kick_cpu_impl", &["cpu", "flags", "aux"]),
            ("bpf_other", &["aux"]),
            ("scx_bpf_now", &[]),
        ];
        assert_eq!(malformed_kfunc(&btf(&sound)), None);
        let shown = [&sound[..], &[("scx_bpf_dsq_nr_queued", &["dsq_id", "aux"])]].concat();
        assert_eq!(malformed_kfunc(&btf(&shown)).as_deref(), Some("scx_bpf_dsq_nr_queued"));
    }

    /// `/sys` of a kernel, as far as it is looked at.
    fn sys(state: Option<&str>, ops: Option<&str>) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let scx = folder.path().join("kernel/sched_ext");
        fs::create_dir_all(scx.join("root")).unwrap();
        for (name, text) in [("state", state), ("root/ops", ops)] {
            if let Some(text) = text {
                fs::write(scx.join(name), text).unwrap();
            }
        }
        folder
    }

    #[test]
    fn each_reason_to_refuse_has_its_line() {
        let ask = |state, ops, root| reason(sys(state, ops).path(), root);
        assert_eq!(ask(Some("disabled\n"), None, true), None);
        for (state, ops, root, says) in [
            (None, None, true, "no sched_ext (/sys/kernel/sched_ext is missing)"),
            (Some("disabled\n"), None, false, "not root"),
            (Some("enabled\n"), Some("rusty_1.0\n"), true, "loaded (rusty_1.0): end that"),
            (Some("enabling\n"), None, true, "loaded (enabling): end that one first"),
        ] {
            let reason = ask(state, ops, root).unwrap();
            assert!(reason.contains(says) && !reason.contains('\n'), "{reason}");
        }
    }
}
