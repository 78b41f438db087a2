//! How the terminal alerts the user.

/// How the terminal alerts the user of a question, or of the end of a run or a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Alert {
    /// Not at all.
    #[default]
    None,
    /// By its bell.
    Bell,
    /// By a notification: the sequence OSC 9.
    Osc9,
}

impl Alert {
    /// Finds the alert with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "none" => Some(Self::None),
            "bell" => Some(Self::Bell),
            "osc9" => Some(Self::Osc9),
            _ => None,
        }
    }
}
