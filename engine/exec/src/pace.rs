//! Holds the telling of lines to a pace that a person can read and a log can bear.

use std::time::Duration;

use tokio::time::Instant;

/// Six a second, and one more when the command has ended: at most seven in any second.
const INTERVAL: Duration = Duration::from_millis(167);

/// Which of many lines are told: the first at once, then the newest as often as the pace allows.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    told: Option<Instant>,
    waiting: Option<Vec<u8>>,
}

impl Pace {
    /// Takes a newer line, and returns it if it may be told now.
    pub(crate) fn offer(&mut self, line: Vec<u8>, now: Instant) -> Option<Vec<u8>> {
        self.waiting = Some(line);
        self.take(now)
    }

    /// Returns when the line that waits may be told, if one waits.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.waiting.as_ref()?;
        self.told.map(|told| told + INTERVAL)
    }

    /// Returns the line that waits if it may be told now.
    pub(crate) fn take(&mut self, now: Instant) -> Option<Vec<u8>> {
        if self.due().is_some_and(|due| now < due) {
            return None;
        }
        let line = self.waiting.take()?;
        self.told = Some(now);
        Some(line)
    }

    /// Returns the line that waits; no other will come.
    pub(crate) fn finish(self) -> Option<Vec<u8>> {
        self.waiting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_most_seven_lines_are_told_in_a_second() {
        let (mut pace, start) = (Pace::default(), Instant::now());
        let mut told = 0;
        for millisecond in 0..1000 {
            let now = start + Duration::from_millis(millisecond);
            told += usize::from(pace.offer(b"x".to_vec(), now).is_some());
        }
        told += usize::from(pace.finish().is_some());
        assert_eq!(told, 7);
    }

    #[test]
    fn the_newest_line_is_told_when_the_pace_allows() {
        let (mut pace, start) = (Pace::default(), Instant::now());
        assert_eq!(pace.due(), None);
        assert_eq!(pace.offer(b"1".to_vec(), start), Some(b"1".to_vec()));
        assert_eq!(pace.due(), None);
        assert_eq!(pace.offer(b"2".to_vec(), start), None);
        assert_eq!(pace.offer(b"3".to_vec(), start), None);
        assert_eq!(pace.due(), Some(start + INTERVAL));
        assert_eq!(pace.take(start + INTERVAL), Some(b"3".to_vec()));
        assert_eq!(pace.take(start + INTERVAL * 2), None);
        assert_eq!(pace.finish(), None);
    }
}
