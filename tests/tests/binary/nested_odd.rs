//! Nested repositories that cannot be used, or want to harm: each is told, and none is followed.
