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
