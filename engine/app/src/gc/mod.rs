//! Removes old captures, logs and outputs: what may go, its removal, and its report.

mod collect;
mod files;
mod plan;
mod report;
mod size;

pub use collect::{Collector, Execution, Retention};
pub use report::{GcReport, report_text};
