//! Durations as text.

/// Formats a duration in milliseconds: `0.4s`, `31s`, `1m48s`, `2h05m`.
#[must_use]
pub fn duration_text(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0..10 => format!("{seconds}.{}s", ms % 1000 / 100),
        10..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_two_figures_that_matter() {
        let texts = [0, 440, 9_999, 31_000, 108_000, 7_500_000].map(duration_text);
        assert_eq!(texts, ["0.0s", "0.4s", "9.9s", "31s", "1m48s", "2h05m"]);
    }
}
