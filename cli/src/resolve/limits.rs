//! How much each task of a run may use.

use std::num::{NonZeroU32, NonZeroU64};

use protocol::TaskLimits;

use crate::args::{LimitSetting, RunArgs};
use crate::error::Error;
use crate::plan::Plan;

/// Returns the limits: those of the command line go before those of the plan, and these before
/// the settings.
///
/// # Errors
/// A value that is none.
pub(super) fn limits(
    args: &RunArgs,
    plan: Option<&Plan>,
    defaults: TaskLimits,
) -> Result<TaskLimits, Error> {
    let mut limits = TaskLimits {
        wall: plan.and_then(|plan| plan.wall).unwrap_or(defaults.wall),
        output: plan.and_then(|plan| plan.output).unwrap_or(defaults.output),
        turns: plan.and_then(|plan| plan.turns).unwrap_or(defaults.turns),
        tokens: plan.and_then(|plan| plan.tokens).map(NonZeroU64::get).or(defaults.tokens),
    };
    for limit in &args.limits {
        match limit.name.as_str() {
            "wall" => limits.wall = read(limit, config::parse_duration)?,
            "turns" => {
                let turns = read(limit, config::parse_count)?;
                limits.turns = NonZeroU32::try_from(turns).unwrap_or(NonZeroU32::MAX);
            }
            "tokens" => limits.tokens = Some(read(limit, config::parse_count)?.get()),
            _ => limits.output = read(limit, config::parse_size)?,
        }
    }
    if limits.wall.is_zero() {
        return Err(Error::usage("a task cannot be done in no time").hint("--limit wall=20m"));
    }
    Ok(limits)
}

fn read<T>(
    limit: &LimitSetting,
    parse: impl Fn(&str) -> Result<T, config::QuantityError>,
) -> Result<T, Error> {
    parse(&limit.value).map_err(|error| {
        Error::usage(format!("`{}` is no value of --limit {}", limit.value, limit.name))
            .because(error.to_string())
    })
}
