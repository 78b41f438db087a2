//! Numbers with their nouns.

/// Formats a number and its noun: `1 file`, `3 files`.
#[must_use]
pub fn counted(number: impl TryInto<u64>, noun: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_agrees_with_its_noun() {
        let files = [0_usize, 1, 2].map(|number| counted(number, "file"));
        assert_eq!(files, ["0 files", "1 file", "2 files"]);
    }
}
