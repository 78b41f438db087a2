//! Rendering of runs and results: progress on standard error, results on standard output. A run is
//! rendered from a view that its events update.

mod agent_text;
mod answer;
mod answers;
mod call_details;
mod changed_files;
mod conflict_text;
mod empty_answer;
mod event_line;
mod folded_lines;
mod group_frame;
mod group_renderer;
mod landed_text;
mod line_wrap;
mod live_frame;
mod live_notes;
mod live_view;
mod missing_command;
mod next_commands;
mod numbers;
mod patch;
mod print_status;
mod printable;
mod progress_lines;
mod question_text;
mod renderer;
mod run_questions;
mod run_view;
mod session_json;
mod short_error;
mod subagent_tree;
mod task_label;
mod task_lines;
mod task_outcome;
mod task_table;
mod task_view;
mod terminal;
#[cfg(test)]
mod test_terminal;
mod three_way;
mod transcript;
mod unverified;

pub use agent_text::{agent_notes, agent_table, agent_text};
pub use answer::{Answer, AnswerPart, answer_lines, answer_text};
pub use call_details::{CallDetails, call_details};
pub use changed_files::{ChangedFile, TaskFiles, TaskHeading, file_lines};
pub use conflict_text::{conflicts_text, left_file, left_text, other_side_text, reason_text};
pub use empty_answer::empty_answer;
pub use folded_lines::{ALL, folded_lines, most_listed};
pub use group_renderer::{GroupMember, group_renderer};
pub use landed_text::{landed_text, resolver_lines, settled_text, unresolved_lines};
#[cfg(test)]
pub use line_wrap::too_long;
pub use line_wrap::wrapped;
pub use live_frame::{FrameInput, run_conditions};
pub use missing_command::{CommandFinder, failure_reason};
pub use next_commands::{CommandHints, FailedWork};
pub use next_commands::{LandedTasks, TasksToRetry, branch_of, closing_lines};
pub use numbers::{
    changed_lines, count, date_time, duration, elapsed, time_left, tokens, usage_details,
    usage_text,
};
pub use patch::write_patch;
pub use print_status::PrintStatus;
pub use printable::{
    cut, escaped, fit, one_line, printable_json, visible_line, visible_text, width,
};
pub use progress_lines::fallback_note;
pub use question_text::{question_keys, question_text};
pub use regatta::text::{
    kept_workspace_note, left_out_lines, left_out_note, rescue_line, shell_word, shell_words,
    size_text,
};
pub use renderer::{OutputStreams, Renderer, renderer, table_renderer};
pub use run_view::{RunInfo, RunView};
pub use session_json::SessionJson;
pub use short_error::short_error;
pub use subagent_tree::{EndedSubagent, SubagentTree};
pub use task_label::shorten;
pub use task_lines::{TaskRow, task_lines};
pub use task_outcome::{OutcomeLine, outcome_line, retry_time_note};
pub use task_table::{CapturePresence, Table, TableRow, TableRows, outcome_counts, write_table};
pub use task_view::{ProviderWait, RunningTask, TaskStage, TaskView};
pub use terminal::{ColorEnv, OutputOptions, TermCapability, Terminal, View};
pub use terminal::{Meaning, Palette};
pub use terminal::{OutputWidth, Size};
#[cfg(test)]
pub use test_terminal::run_started;
pub use three_way::three_way_lines;
pub use transcript::{call_summary, result_of, transcript};
pub use unverified::{unverified, unverified_lines, unverified_text};
