// SPDX-License-Identifier: GPL-2.0-only
#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use std::fs;
use std::thread;

const TIMER: Timer =
    Timer { stop: 0xffff_ffff_8399_1a70, variable: 0xffff_ffff_83e3_4b24, period: 4_000_000 };

/// A debugger that answers each packet with the next word, and what it was asked.
fn debugger(answers: &'static [&'static str]) -> (UnixStream, thread::JoinHandle<Vec<String>>) {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let answer = move || {
        let mut asked = Vec::new();
        for answer in answers {
            let mut text = String::new();
            while !text.contains('#') {
                let mut byte = [0];
                if theirs.read(&mut byte).unwrap() == 0 {
                    return asked;
                }
                text.push(byte[0].into());
            }
            let mut sum = [0; 2];
            theirs.read_exact(&mut sum).unwrap();
            let packet = text.trim_start_matches('+').trim_matches(['$', '#']).to_owned();
            let right = packet.bytes().fold(0u8, u8::wrapping_add);
            assert_eq!(String::from_utf8_lossy(&sum), format!("{right:02x}"));
            asked.push(packet);
            theirs.write_all(format!("+${answer}#00").as_bytes()).unwrap();
        }
        let _ = theirs.read(&mut [0]); // the last acknowledgement
        asked
    };
    (ours, thread::spawn(answer))
}

#[test]
fn the_period_is_written_at_the_stop_and_the_guest_let_go() {
    let (ours, theirs) = debugger(&["OK", "T05thread:01;", "OK", "00000000", "OK", "OK"]);
    TIMER.tell(ours).unwrap();
    assert_eq!(
        theirs.join().unwrap(),
        [
            "Z0,ffffffff83991a70,1",
            "c",
            "z0,ffffffff83991a70,1",
            "mffffffff83e34b24,4",
            "Mffffffff83e34b24,4:00093d00",
            "D",
        ]
    );
}

#[test]
fn nothing_is_written_where_something_lies() {
    let (ours, theirs) = debugger(&["OK", "T05thread:01;", "OK", "12000000", "OK", "OK"]);
    let error = format!("{:#}", TIMER.tell(ours).unwrap_err());
    assert!(error.contains("answers `12000000`, not `00000000`"), "{error}");
    assert!(!theirs.join().unwrap().iter().any(|packet| packet.starts_with('M')));
}

#[test]
fn a_guest_that_ends_first_is_no_error() {
    let (ours, theirs) = debugger(&["OK"]);
    TIMER.tell(ours).unwrap();
    assert_eq!(theirs.join().unwrap().len(), 1);
}

#[test]
fn both_symbols_are_found_or_none() {
    let stop = "ffffffff83991a70 T start_kernel\n";
    let variable = "ffffffff83e34b24 B lapic_timer_period\n";
    let module = "ffffffffc0000000 t start_kernel_not [module]\n";
    let hidden = "0000000000000000 T start_kernel\n0000000000000000 B lapic_timer_period\n";
    let found = symbols([stop, variable, module].concat().as_bytes());
    assert_eq!(found.unwrap(), (TIMER.stop, TIMER.variable));
    for text in ["", stop, variable, module, hidden] {
        symbols(text.as_bytes()).unwrap_err();
    }
}

#[test]
fn memory_is_where_its_segment_says() {
    // this program's own file: its first loaded segment begins with the ELF header
    let file = fs::read(std::env::current_exe().unwrap()).unwrap();
    let elf = object::elf::FileHeader64::<object::Endianness>::parse(&*file).unwrap();
    let endian = elf.endian().unwrap();
    let segments = elf.program_headers(endian, &*file).unwrap();
    let loaded = segments.iter().find(|s| s.p_type(endian) == object::elf::PT_LOAD).unwrap();
    let (at, offset) = (loaded.p_vaddr(endian), loaded.p_offset(endian));
    assert_eq!(offset_in(&file[..HEADERS.min(file.len())], at + 16), Some(offset + 16));
    assert_eq!(offset_in(&file, u64::MAX), None);
    assert_eq!(offset_in(b"no ELF", 0), None);
}
