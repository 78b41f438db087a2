//! The value of `--limit`.

use std::str::FromStr;

use crate::elsewhere::nearest;

use crate::not_implemented::refused_value;

/// The value of `--limit`, of which the part after `=` is not parsed yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitSetting {
    /// The name of the limit.
    pub name: String,
    /// The value of the limit, as typed.
    pub value: String,
}

impl LimitSetting {
    /// The limits, each with a value.
    const EXAMPLES: [(&str, &str); 5] = [
        ("wall", "20m"),
        ("output", "10MB"),
        ("turns", "40"),
        ("tokens", "400k"),
        ("cost", "2.00USD"),
    ];

    /// What other programs call the limits.
    const SYNONYMS: [(&str, &str); 14] = [
        ("budget", "cost"),
        ("deadline", "wall"),
        ("dollars", "cost"),
        ("duration", "wall"),
        ("iterations", "turns"),
        ("max-cost", "cost"),
        ("max-tokens", "tokens"),
        ("max-turns", "turns"),
        ("price", "cost"),
        ("size", "output"),
        ("steps", "turns"),
        ("time", "wall"),
        ("timeout", "wall"),
        ("usd", "cost"),
    ];

    /// Returns what to type in place of a limit with an invalid name or value: the value with the unit that is
    /// missing, if it has a number, or else an example. A name that is none elsewhere has nothing in its place.
    pub(crate) fn instead_of(typed: &str) -> Option<String> {
        let (given, value) = typed.split_once('=').unwrap_or((typed, ""));
        let names = || Self::EXAMPLES.map(|(name, _)| name);
        let lower = given.to_ascii_lowercase();
        let name = names().into_iter().find(|name| *name == lower);
        let other =
            || Self::SYNONYMS.iter().find(|(name, _)| *name == lower).map(|(_, here)| *here);
        let name = name.or_else(other).or_else(|| nearest(given, names()))?;
        let number = value.trim().trim_start_matches('$');
        let end = number.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(number.len());
        let (number, unit) = number.split_at(end);
        let unit = unit.trim_start().to_ascii_lowercase();
        let with_unit = match (name, unit.chars().next()) {
            ("wall", Some(unit @ ('s' | 'm' | 'h' | 'd'))) => format!("{number}{unit}"),
            ("output", Some(unit @ ('k' | 'm' | 'g'))) => {
                format!("{number}{}B", unit.to_ascii_uppercase())
            }
            ("cost", None) => format!("{number}USD"),
            _ => number.to_owned(),
        };
        let is_valid = match name {
            "wall" => config::parse_duration(&with_unit).is_ok_and(|wall| !wall.is_zero()),
            "output" => config::parse_size(&with_unit).is_ok(),
            "cost" => config::parse_cost(&with_unit).is_ok(),
            _ => config::parse_count(&with_unit).is_ok(),
        };
        let example = Self::EXAMPLES.iter().find(|(of, _)| *of == name).map(|(_, value)| *value);
        let value = if is_valid { &with_unit } else { example.unwrap_or_default() };
        Some(format!("--limit {name}={value}"))
    }
}

impl FromStr for LimitSetting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').ok_or("a limit looks like wall=20m")?;
        match name {
            "wall" | "output" | "turns" | "tokens" | "cost" => {
                Ok(Self { name: name.to_owned(), value: value.to_owned() })
            }
            _ => Err(refused_value("limit", name).unwrap_or_else(|| {
                "the limits are wall, output, turns, tokens and cost".to_owned()
            })),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_limit_has_one_that_is_valid_in_its_place() {
        for (typed, instead) in [
            ("cost=1", "cost=1USD"),
            ("cost=$1.50", "cost=1.50USD"),
            ("cost=1EUR", "cost=2.00USD"),
            ("cost=0", "cost=2.00USD"),
            ("cost", "cost=2.00USD"),
            ("wall=5min", "wall=5m"),
            ("wall=90 seconds", "wall=90s"),
            ("wall=soon", "wall=20m"),
            ("wall=0", "wall=20m"),
            ("wlal=5m", "wall=5m"),
            ("output=10Mbit", "output=10MB"),
            ("output=all", "output=10MB"),
            ("turns=0", "turns=40"),
            ("turn=3", "turns=3"),
            ("tokens=many", "tokens=400k"),
            ("budget=2", "cost=2USD"),
            ("Timeout=90", "wall=90"),
            ("steps", "turns=40"),
        ] {
            let found = LimitSetting::instead_of(typed);
            assert_eq!(found, Some(format!("--limit {instead}")), "{typed}");
        }
        for typed in ["fuel=5", "fuel", "", "20m"] {
            assert_eq!(LimitSetting::instead_of(typed), None, "{typed}");
        }
    }
}
