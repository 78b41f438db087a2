//! Where models are had: one file per wire format, and the offline provider that plays scripts.
