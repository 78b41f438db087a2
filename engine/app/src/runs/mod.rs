//! The runs of a repository: how they and their tasks are found, and what became of the work of each.

mod conflicts;
mod discard;
mod explain;
mod kept_work;
mod landable_work;
mod landed_work;
mod landings;
mod locked_target;
mod patches;
mod repository_runs;
mod results;
mod settle_choices;
mod target;
mod undo;

pub use conflicts::{
    OpenConflict, SettleOption, UnlandedWork, can_be_settled, settle_options, sides_of,
    unlanded_work,
};
pub use discard::{Discarded, Resolution, discard};
pub use explain::{NextStep, RunExplanation, TaskExplanation, explain};
pub use kept_work::{
    ChosenWork, KeptReason, Missing, NotReady, can_land_again, has_landed, is_taken_back,
    kept_reason, landing_tasks, wanted,
};
pub use landable_work::{KeptWork, LandAgain, LandableWork, NothingOfKind, Superseded, of_kind};
pub use landed_work::{LandedWork, ThrownAway};
pub use landings::{LandError, check_lands_again, keep_other_tasks, land, landing_request};
pub use locked_target::LockedTarget;
pub use patches::{PatchError, TaskPatch, patch_needs, patches};
pub use repository_runs::{EngineOf, RepositoryRuns, WorkError};
pub use results::{TaskResult, each_task};
pub use settle_choices::{ChoiceError, Choices, conflict_names};
pub use target::{Collected, Located, Target, TargetError, TargetKind, TargetWords};
pub use undo::{UndoError, take_back, undo_request};
