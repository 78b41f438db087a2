//! Which variables are passed on to what tasks run although they would be removed.

use config::Setting;
use exec::EnvironmentRules;

use super::Defaults;
use crate::args::RunArgs;
use crate::error::{Error, ErrorKind};

/// Returns the names: those of the command line, else those of the settings, each once.
///
/// # Errors
/// One of them can never be passed on.
pub(super) fn pass_env(args: &RunArgs, defaults: &Defaults) -> Result<Vec<String>, Error> {
    let (names, origin, kind) = if args.pass_env.is_empty() {
        let Setting { value, origin } = &defaults.pass_env;
        (value.clone(), origin.to_string(), ErrorKind::Settings)
    } else {
        let names = args.pass_env.iter().map(|name| name.as_str().to_owned()).collect();
        (names, "the option --pass-env".to_owned(), ErrorKind::Usage)
    };
    let mut passed: Vec<String> = Vec::new();
    for name in names {
        if EnvironmentRules::is_never_passed(&name) {
            return Err(Error::new(kind, format!("`{name}` cannot be passed on to tasks"))
                .because("it would make them work at another repository, or is meant for regatta")
                .because(format!("{origin} names it")));
        }
        if !passed.contains(&name) {
            passed.push(name);
        }
    }
    Ok(passed)
}
