//! The names of files that are only there while another one is written. A kill may leave one in a
//! tree; by its name everybody knows that it is nobody's work.

use std::fmt::Display;

const BEGIN: &str = ".regatta-";
const END: &str = ".tmp";

/// Returns the name of the `number`th temporary file of `maker`, which has to be unique.
#[must_use]
pub fn temporary_name(maker: impl Display, number: impl Display) -> String {
    format!("{BEGIN}{maker}-{number}{END}")
}

/// Returns whether a file's name is that of a temporary file.
#[must_use]
pub fn is_temporary_name(name: &[u8]) -> bool {
    name.strip_prefix(BEGIN.as_bytes())
        .and_then(|rest| rest.strip_suffix(END.as_bytes()))
        .is_some_and(|middle| middle.contains(&b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporary_files_are_known_by_their_names_and_no_others() {
        assert!(is_temporary_name(temporary_name("r7k3f", 3).as_bytes()));
        assert!(is_temporary_name(temporary_name(4711, 0).as_bytes()));
        for other in [".regatta", ".regatta-.tmp", ".regatta-a-1.tmp~", "x.regatta-a-1.tmp"] {
            assert!(!is_temporary_name(other.as_bytes()), "{other}");
        }
    }
}
