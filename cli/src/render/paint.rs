//! Colour, for meaning only.

/// Whether text is painted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Palette {
    /// With the terminal's own colours.
    Colour,
    /// Not at all.
    Plain,
}

/// What a colour says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// Landed, added: green.
    Good,
    /// Kept, for a person to look at: yellow.
    Kept,
    /// Failed, removed: red.
    Bad,
    /// Where one is: bold.
    Heading,
    /// A place inside a file: cyan.
    Place,
    /// Said by the way, not to anybody: faint.
    Aside,
    /// Nothing: left as it is.
    Neutral,
}

impl Palette {
    /// Returns `text` in the colour of its meaning. The text must be safe already.
    #[must_use]
    pub fn paint(self, meaning: Meaning, text: &str) -> String {
        let code = match meaning {
            Meaning::Good => "32",
            Meaning::Kept => "33",
            Meaning::Bad => "31",
            Meaning::Heading => "1",
            Meaning::Place => "36",
            Meaning::Aside => "2",
            Meaning::Neutral => return text.to_owned(),
        };
        match self {
            Self::Colour if !text.is_empty() => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            Self::Colour | Self::Plain => text.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_palette_text_stays_as_it_is() {
        assert_eq!(Palette::Plain.paint(Meaning::Bad, "failed"), "failed");
        assert_eq!(Palette::Colour.paint(Meaning::Bad, "failed"), "\u{1b}[31mfailed\u{1b}[0m");
        assert_eq!(Palette::Colour.paint(Meaning::Neutral, "x"), "x");
    }
}
