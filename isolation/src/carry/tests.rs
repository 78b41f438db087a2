//! Carried files in real repositories.
