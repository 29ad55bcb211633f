// SPDX-License-Identifier: GPL-2.0-only
//! What went wrong in apt, from the text that it prints.

use crate::error::Failure;

/// Why apt failed, as far as it changes what happens next or what the user is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The mirror cannot be reached: what is already here may do.
    Unreachable,
    /// The package or suite is no longer on the mirror: the index may be old.
    Gone,
    /// What came is not what the signed index names.
    Corrupt,
    /// The index's signature could not be verified.
    Unsigned,
    /// No room on the disk.
    Full,
    /// Anything else.
    Other,
}

/// A failure with its cause.
#[derive(Debug)]
pub struct Trouble {
    /// Decides what is tried next.
    pub cause: Cause,
    /// The line for the user.
    pub error: anyhow::Error,
}

impl Trouble {
    /// What arrived is not what it should be.
    pub fn corrupt(message: String) -> Self {
        Self { cause: Cause::Corrupt, error: Failure::failed(message) }
    }

    /// Reads apt's standard error; `doing` begins the line, e.g. `cannot fetch the package index`.
    pub fn of_apt(doing: &str, stderr: &str) -> Self {
        let errors: Vec<&str> = stderr
            .lines()
            .filter_map(|l| l.strip_prefix("E: "))
            .filter(|l| !l.starts_with("Some index files failed"))
            .collect();
        // A missing signature is told in a warning, its consequence as the error.
        let signature = stderr.lines().find_map(|l| l.strip_prefix("W: GPG error: "));
        let (cause, text) = match errors.first() {
            Some(first) => (cause(first), *first),
            None => (Cause::Other, "apt said nothing"),
        };
        let text = match (cause, signature) {
            (Cause::Unsigned, Some(warning)) => warning,
            _ => text.strip_prefix("Failed to fetch ").unwrap_or(text),
        };
        let remedy = match cause {
            Cause::Unreachable => "; connect this machine",
            Cause::Gone => "; the mirror may be in the middle of an update: try again",
            Cause::Corrupt => "; nothing was kept: try again, or use another mirror",
            Cause::Unsigned => "; bring the distribution's keyring package up to date",
            Cause::Full => "; make room, or put the cache elsewhere",
            Cause::Other => "",
        };
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let message = format!("{doing}: {text}{remedy}");
        let error = match cause {
            Cause::Unreachable | Cause::Full => Failure::machine(message),
            _ => Failure::failed(message),
        };
        Self { cause, error }
    }
}

impl From<anyhow::Error> for Trouble {
    fn from(error: anyhow::Error) -> Self {
        Self { cause: Cause::Other, error }
    }
}

impl From<Trouble> for anyhow::Error {
    fn from(trouble: Trouble) -> Self {
        trouble.error
    }
}

fn cause(error: &str) -> Cause {
    const WORDS: &[(&str, Cause)] = &[
        ("No space left on device", Cause::Full),
        ("enough free space", Cause::Full),
        ("Hash Sum mismatch", Cause::Corrupt),
        ("unexpected size", Cause::Corrupt),
        ("is not signed", Cause::Unsigned),
        ("no longer signed", Cause::Unsigned),
        ("signatures couldn't be verified", Cause::Unsigned),
        ("404  Not Found", Cause::Gone),
        ("does not have a Release file", Cause::Gone),
        ("was not found", Cause::Gone),
        ("Unable to locate package", Cause::Gone),
        ("resolv", Cause::Unreachable),
        ("onnect", Cause::Unreachable),
        ("timed out", Cause::Unreachable),
        ("unreachable", Cause::Unreachable),
        ("502  ", Cause::Unreachable),
    ];
    WORDS.iter().find(|(words, _)| error.contains(words)).map_or(Cause::Other, |(_, cause)| *cause)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::error::exit_status;

    const POOL: &str = "http://mirror.example/debian/pool/main/l/linux-binary-7.0.13_amd64.deb";

    fn told(stderr: &str) -> (Cause, String, u8) {
        let trouble = Trouble::of_apt("cannot fetch it", stderr);
        (trouble.cause, trouble.error.to_string(), exit_status(&trouble.error))
    }

    #[test]
    fn unreachable_mirror_names_the_remedy() {
        for text in [
            "E: Failed to fetch http://mirror.example/debian/dists/unstable/InRelease  Temporary \
             failure resolving 'mirror.example'\nE: Some index files failed to download. They \
             have been ignored, or old ones used instead.\n",
            "E: Failed to fetch http://mirror.example/x  Could not connect to 127.0.0.1:9 \
             (127.0.0.1). - connect (111: Connection refused)\n",
            "E: Failed to fetch http://mirror.example/x  Unable to connect to 127.0.0.1:9:\n",
        ] {
            let (cause, message, status) = told(text);
            assert_eq!((cause, status), (Cause::Unreachable, 3), "{message}");
            assert!(message.starts_with("cannot fetch it: http://mirror.example"), "{message}");
            assert!(message.ends_with("; connect this machine"), "{message}");
            assert!(!message.contains('\n'));
        }
    }

    #[test]
    fn corrupt_package_is_a_failed_run() {
        let flipped = format!(
            "W: Download is performed unsandboxed as root\n\
             E: Failed to fetch {POOL}  Hash Sum mismatch\n   Hashes of expected file:\n    - \
             SHA256:7e2f\n"
        );
        let short = format!(
            "E: Failed to fetch {POOL}  File has unexpected size (6574754 != 13149508). Mirror \
             sync in progress? [IP: 127.0.0.1 18083]\n"
        );
        for text in [flipped, short] {
            let (cause, message, status) = told(&text);
            assert_eq!((cause, status), (Cause::Corrupt, 1), "{message}");
            assert!(message.contains("nothing was kept"), "{message}");
        }
    }

    #[test]
    fn gone_full_and_unsigned_are_told_apart() {
        let gone = format!("E: Failed to fetch {POOL}  404  Not Found [IP: 192.0.2.1 80]\n");
        assert_eq!(told(&gone).0, Cause::Gone);
        let suite = "E: The repository 'http://mirror.example/debian x Release' does not have a \
                     Release file.\n";
        assert_eq!(told(suite).0, Cause::Gone);
        let full = format!(
            "E: Failed to fetch {POOL}  Error writing to file - write (28: No space left on \
             device) [IP: 192.0.2.1 80]\n"
        );
        let (cause, _, status) = told(&full);
        assert_eq!((cause, status), (Cause::Full, 3));
        let unsigned = "W: GPG error: http://mirror.example/debian unstable InRelease: The \
            following signatures couldn't be verified because the public key is not available: \
            NO_PUBKEY 6ED0E7B82643E131\nE: The repository 'http://mirror.example/debian unstable \
            InRelease' is not signed.\n";
        let (cause, message, status) = told(unsigned);
        assert_eq!((cause, status), (Cause::Unsigned, 1));
        assert!(message.contains("NO_PUBKEY") && message.contains("keyring"), "{message}");
    }

    #[test]
    fn silence_is_told_too() {
        assert_eq!(told("").1, "cannot fetch it: apt said nothing");
    }
}
