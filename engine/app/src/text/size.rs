//! Formats sizes.

/// Formats a number of bytes: `950 bytes`, `12 KB`, `9.5 MB`.
#[must_use]
pub fn size_text(bytes: impl TryInto<u64>) -> String {
    match bytes.try_into().unwrap_or(u64::MAX) {
        bytes @ 0..1_000 => format!("{bytes} bytes"),
        bytes @ 1_000..1_000_000 => format!("{} KB", bytes / 1_000),
        bytes => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}
