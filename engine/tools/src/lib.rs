//! What a model may call: one file per tool, and the table of them.
