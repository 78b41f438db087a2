//! Parses durations, sizes and numbers as people write them: `20m`, `1h30m`, `256 MiB`, `400k`.

use std::num::NonZeroU64;
use std::time::Duration;

use protocol::{Cost, quote_within};

/// Why a text is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// Not a duration.
    #[error("`{0}` is not a duration (they look like `90s`, `20m` or `1h30m`)")]
    Duration(String),
    /// Not a size.
    #[error("`{0}` is not a size (they look like `500 KB`, `256 MiB` or `10000000`)")]
    Size(String),
    /// A number without a unit, where none is the obvious one.
    #[error("`{number}` has no unit (write `{number}{}` or `{number}{}`)", .units[0], .units[1])]
    NoUnit {
        /// The number.
        number: String,
        /// The usual units.
        units: [&'static str; 2],
    },
    /// Not a count of at least one.
    #[error("`{0}` is not a number from 1 on (they look like `40`, `400_000` or `2M`)")]
    Count(String),
    /// Not an amount of money.
    #[error("`{0}` is not an amount of US dollars (they look like `2.00USD` or `0.5 USD`)")]
    Cost(String),
    /// No money.
    #[error("`{0}` is nothing, and a limit in US dollars is more than that (such as `2.00USD`)")]
    NoCost(String),
    /// Too large.
    #[error("`{0}` is too large")]
    TooLarge(String),
}

/// The units of a duration in milliseconds, largest first.
const TIMES: [(&str, u64); 5] =
    [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// The longest duration: a hundred years.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 86_400);

/// The units of a size in bytes. A bare `M` means what it means to `git`, `du` and `docker`: `MiB`.
const SIZES: [(&str, u64); 13] = [
    ("b", 1),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("tb", 1_000_000_000_000),
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("tib", 1 << 40),
    ("k", 1 << 10),
    ("m", 1 << 20),
    ("g", 1 << 30),
    ("t", 1 << 40),
];

/// Parses a duration: whole numbers with the units `d`, `h`, `m`, `s` and `ms`, each at most once
/// and the larger ones first; a plain number is in seconds.
///
/// # Errors
/// The text is not such a quantity, or too large.
pub fn parse_duration(text: &str) -> Result<Duration, QuantityError> {
    let bad = || QuantityError::Duration(shortened(text));
    let large = || QuantityError::TooLarge(shortened(text));
    let mut rest = text.trim();
    if !rest.is_empty() && rest.bytes().all(|digit| digit.is_ascii_digit()) {
        let seconds = rest.parse().map(Duration::from_secs).map_err(|_overflow| large())?;
        return if seconds > LONGEST { Err(large()) } else { Ok(seconds) };
    }
    let mut units = TIMES.iter();
    let mut total: u64 = 0;
    let mut parts = 0;
    while !rest.is_empty() {
        let (number, after) = digits(rest).ok_or_else(bad)?;
        let letters = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        // Continuing after the last unit keeps them in order and each at most once.
        let (_, factor) = units.find(|(name, _)| *name == unit).ok_or_else(bad)?;
        let number: u64 = number.parse().map_err(|_overflow| large())?;
        let part = number.checked_mul(*factor).ok_or_else(large)?;
        total = total.checked_add(part).ok_or_else(large)?;
        rest = after.trim_start();
        parts += 1;
    }
    match Duration::from_millis(total) {
        _ if parts == 0 => Err(bad()),
        duration if duration > LONGEST => Err(large()),
        duration => Ok(duration),
    }
}

/// Parses an age: a duration with units. `5` alone could mean seconds or days, and old work is removed.
///
/// # Errors
/// The text is not such a quantity, too large, or a number without a unit.
pub fn parse_age(text: &str) -> Result<Duration, QuantityError> {
    let duration = parse_duration(text)?;
    if is_bare_number(text) {
        return Err(QuantityError::NoUnit { number: shortened(text.trim()), units: ["d", "h"] });
    }
    Ok(duration)
}

/// Parses the size of a store: a size with a unit. `2` alone hardly means bytes.
///
/// # Errors
/// The text is not such a quantity, too large, or a number without a unit.
pub fn parse_store_size(text: &str) -> Result<u64, QuantityError> {
    let size = parse_size(text)?;
    if is_bare_number(text) {
        return Err(QuantityError::NoUnit { number: shortened(text.trim()), units: ["GB", "MB"] });
    }
    Ok(size)
}

fn is_bare_number(text: &str) -> bool {
    text.trim().bytes().all(|digit| digit.is_ascii_digit())
}

/// Parses a size in bytes: a whole number with a unit (`KB` counts 1000; `KiB` and `K` 1024; and so on, in
/// any case), or without one.
///
/// # Errors
/// The text is not such a quantity, or too large.
pub fn parse_size(text: &str) -> Result<u64, QuantityError> {
    let (number, unit) = digits(text.trim()).ok_or_else(|| QuantityError::Size(shortened(text)))?;
    let unit = unit.trim_start().to_ascii_lowercase();
    let unit = if unit.is_empty() { "b" } else { &unit };
    let (_, factor) = SIZES
        .iter()
        .find(|(name, _)| *name == unit)
        .ok_or_else(|| QuantityError::Size(shortened(text)))?;
    let number: Option<u64> = number.parse().ok();
    number
        .and_then(|number| number.checked_mul(*factor))
        .ok_or_else(|| QuantityError::TooLarge(shortened(text)))
}

/// Parses a number of at least one: digits, `_` between them, and `k` for thousands or `M`
/// for millions after them.
///
/// # Errors
/// The text is not such a quantity, or too large.
pub fn parse_count(text: &str) -> Result<NonZeroU64, QuantityError> {
    let (bad, large) =
        (|| QuantityError::Count(shortened(text)), || QuantityError::TooLarge(shortened(text)));
    let trimmed = text.trim();
    let (number, factor) = match trimmed.as_bytes().last() {
        Some(b'k' | b'K') => (&trimmed[..trimmed.len() - 1], 1_000),
        Some(b'm' | b'M') => (&trimmed[..trimmed.len() - 1], 1_000_000),
        _ => (trimmed, 1),
    };
    let sane = number.starts_with(|first: char| first.is_ascii_digit())
        && number.ends_with(|last: char| last.is_ascii_digit())
        && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    if !sane {
        return Err(bad());
    }
    let number: u64 = number.replace('_', "").parse().map_err(|_overflow| large())?;
    NonZeroU64::new(number.checked_mul(factor).ok_or_else(large)?).ok_or_else(bad)
}

/// The largest amount of money, in dollars.
const MOST_DOLLARS: u64 = 1_000_000_000;

/// Parses an amount of money above zero: dollars with at most nine places, and `USD` after them.
///
/// # Errors
/// The text is not such a quantity, or too large.
pub fn parse_cost(text: &str) -> Result<Cost, QuantityError> {
    let bad = || QuantityError::Cost(shortened(text));
    let trimmed = text.trim();
    let unit = trimmed.len().checked_sub(3).and_then(|at| trimmed.split_at_checked(at));
    let (number, _) = unit.filter(|(_, unit)| unit.eq_ignore_ascii_case("usd")).ok_or_else(bad)?;
    let (dollars, rest) = digits(number.trim_end()).ok_or_else(bad)?;
    let places = match rest.strip_prefix('.') {
        Some(places) if digits(places).is_some_and(|(_, rest)| rest.is_empty()) => places,
        None if rest.is_empty() => "",
        Some(_) | None => return Err(bad()),
    };
    if places.len() > 9 {
        return Err(bad());
    }
    let dollars: Option<u64> = dollars.parse().ok().filter(|dollars| *dollars <= MOST_DOLLARS);
    let dollars = dollars.ok_or_else(|| QuantityError::TooLarge(shortened(text)))?;
    let nanodollars: u64 = format!("{places:0<9}").parse().map_err(|_not_digits| bad())?;
    match dollars * 1_000_000_000 + nanodollars {
        0 => Err(QuantityError::NoCost(shortened(text))),
        cost => Ok(Cost::from_nanodollars(cost)),
    }
}

/// Splits off the digits at the beginning of a text.
fn digits(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// Returns the text as it is quoted in an error.
fn shortened(text: &str) -> String {
    quote_within(text, 40)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_written_with_units_or_in_seconds() {
        for (text, seconds) in [
            ("20m", 1_200),
            ("1h30m", 5_400),
            ("90s", 90),
            ("90", 90),
            (" 1h 30m ", 5_400),
            ("2d", 172_800),
            ("0", 0),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        assert_eq!(parse_duration("1s500ms"), Ok(Duration::from_millis(1_500)));
    }

    #[test]
    fn what_is_not_a_duration_is_refused() {
        for text in ["", " ", "m", "20x", "1.5h", "-1s", "30m1h", "1m1m", "1 2", "m20", "20 m!"] {
            assert_eq!(parse_duration(text), Err(QuantityError::Duration(text.into())), "{text}");
        }
        for text in
            ["99999999999999999999", "999999999999999999d", "18446744073709551615", "36501d"]
        {
            assert_eq!(parse_duration(text), Err(QuantityError::TooLarge(text.into())), "{text}");
        }
    }

    #[test]
    fn a_size_is_written_with_units_or_in_bytes() {
        for (text, bytes) in [
            ("256 MiB", 268_435_456),
            ("10MB", 10_000_000),
            ("500 kb", 500_000),
            ("1 GiB", 1 << 30),
            ("7", 7),
            ("7 B", 7),
            ("0", 0),
            ("10 M", 10 << 20),
            ("2G", 2 << 30),
            ("2g", 2 << 30),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_size_is_refused() {
        for text in ["", "MiB", "1.5 MB", "-1", "10 MBit", "1 2"] {
            assert_eq!(parse_size(text), Err(QuantityError::Size(text.into())), "{text}");
        }
        for text in ["18446744073709551616", "99999999999 GiB"] {
            assert_eq!(parse_size(text), Err(QuantityError::TooLarge(text.into())), "{text}");
        }
    }

    #[test]
    fn old_work_is_removed_by_an_age_or_a_size_with_a_unit_only() {
        for text in ["5", "0", " 30 "] {
            let number = text.trim();
            let age = format!("`{number}` has no unit (write `{number}d` or `{number}h`)");
            assert_eq!(parse_age(text).unwrap_err().to_string(), age);
            let size = format!("`{number}` has no unit (write `{number}GB` or `{number}MB`)");
            assert_eq!(parse_store_size(text).unwrap_err().to_string(), size);
        }
        assert_eq!(parse_age("5x"), Err(QuantityError::Duration("5x".into())));
        assert_eq!(parse_age("5d"), Ok(Duration::from_secs(5 * 86_400)));
        assert_eq!(parse_age("0s"), Ok(Duration::ZERO));
        for (text, bytes) in [("2G", 2 << 30), ("2GB", 2_000_000_000), ("2 GiB", 2 << 30)] {
            assert_eq!(parse_store_size(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn a_number_of_things_is_at_least_one() {
        for (text, number) in
            [("1", 1), (" 400_000 ", 400_000), ("400k", 400_000), ("2M", 2_000_000), ("07", 7)]
        {
            assert_eq!(parse_count(text).map(NonZeroU64::get), Ok(number), "{text}");
        }
        for text in ["", "0", "0k", "-1", "1.5", "_1", "1_", "k", "1 k", "1kk", "many", "ä"] {
            assert_eq!(parse_count(text), Err(QuantityError::Count(text.into())), "{text}");
        }
        for text in ["18446744073709551616", "18446744073709551615k"] {
            assert_eq!(parse_count(text), Err(QuantityError::TooLarge(text.into())), "{text}");
        }
    }

    #[test]
    fn what_is_quoted_is_short_and_harmless() {
        let error = parse_size(&format!("\u{1b}[2J{}", "9".repeat(999))).unwrap_err().to_string();
        assert!(error.len() < 150 && !error.contains('\u{1b}'), "{error}");
    }

    #[test]
    fn money_is_written_in_dollars_and_exact() {
        for (text, nanodollars) in [
            ("2.00USD", 2_000_000_000),
            (" 2 usd ", 2_000_000_000),
            ("0.000000001 USD", 1),
            ("0.15USD", 150_000_000),
            ("1000000000USD", 1_000_000_000_000_000_000),
        ] {
            assert_eq!(parse_cost(text), Ok(Cost::from_nanodollars(nanodollars)), "{text}");
        }
        for text in [
            "",
            "2",
            "$2",
            "2 EUR",
            "-1USD",
            "1.USD",
            ".5USD",
            "1e3USD",
            "USD",
            "1.0000000001USD",
            "1,5USD",
            "\u{fc}SD",
            "2.00 USD USD",
        ] {
            assert!(matches!(parse_cost(text), Err(QuantityError::Cost(_))), "{text}");
        }
        for text in ["0USD", "0.00 USD"] {
            assert!(matches!(parse_cost(text), Err(QuantityError::NoCost(_))), "{text}");
        }
        for text in ["1000000001USD", "99999999999999999999999USD"] {
            assert!(matches!(parse_cost(text), Err(QuantityError::TooLarge(_))), "{text}");
        }
    }
}
