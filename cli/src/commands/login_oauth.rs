//! `regatta login` by OAuth: shows the page, opens it on a desktop, and waits for the browser, for an
//! address that the user pastes, or for the code to be typed on another device.

use std::io::{self, BufRead as _, IsTerminal as _};
use std::process::Stdio;
use std::time::Duration;

use providers::{BrowserLogin, DeviceLogin, Granted, LoginError, LoginService, RedirectListener};
use tokio::process::Command;
use tokio::sync::mpsc::{self, Receiver};
use tokio::time::timeout;

use crate::args::LoginMethod;
use crate::render::one_line;
use regatta::error::{Error, ErrorKind};

/// How long a login may take unless the user says otherwise.
pub(super) const USUAL_TIMEOUT: Duration = Duration::from_secs(600);

/// The longest line that is read as an address, in bytes.
const LONGEST_LINE: u64 = 16 << 10;

/// Logs in at a provider.
///
/// # Errors
/// The login failed, was denied or took too long.
pub(super) async fn run(
    provider: &str,
    service: &LoginService,
    method: LoginMethod,
    limit: Duration,
) -> Result<Granted, Error> {
    let login = async {
        match method {
            LoginMethod::Device => by_device(service).await,
            LoginMethod::Browser | LoginMethod::Key => in_browser(service).await,
        }
    };
    let ended = timeout(limit, login).await;
    let ended = ended.unwrap_or_else(|_elapsed| Err(LoginError::TimedOut(limit).into()));
    ended.map_err(|failed| failed.error(provider))
}

/// Why a login failed.
enum Failed {
    Login(LoginError),
    /// Nothing can come: there is neither a browser here nor a terminal.
    NoAnswer,
}

impl From<LoginError> for Failed {
    fn from(error: LoginError) -> Self {
        Self::Login(error)
    }
}

impl Failed {
    fn error(self, provider: &str) -> Error {
        let provider = one_line(provider);
        let what = format!("cannot log in at {provider}");
        let error = match self {
            Self::NoAnswer => {
                return Error::new(ErrorKind::Model, what)
                    .because("there is no desktop here, and standard input has ended")
                    .hint(format!("regatta login {provider} (in a terminal)"))
                    .hint(format!("regatta login {provider} --key (an API key)"));
            }
            Self::Login(error) => error,
        };
        let kind = match &error {
            LoginError::Config(_) => ErrorKind::Settings,
            LoginError::Port { .. } => ErrorKind::Machine,
            LoginError::Denied(_)
            | LoginError::State(_)
            | LoginError::NotTheAddress(_)
            | LoginError::TimedOut(_)
            | LoginError::Unreachable { .. }
            | LoginError::Refused { .. } => ErrorKind::Model,
        };
        let told = Error::new(kind, what).because(one_line(&error.to_string()));
        match error {
            LoginError::Port { .. } => {
                told.hint("end the program that listens there, or set another `oauth.redirectUrl`")
            }
            LoginError::State(_) | LoginError::TimedOut(_) => {
                told.hint(format!("regatta login {provider} (begins anew)"))
            }
            LoginError::Config(_)
            | LoginError::Denied(_)
            | LoginError::NotTheAddress(_)
            | LoginError::Unreachable { .. }
            | LoginError::Refused { .. } => told,
        }
    }
}

async fn in_browser(service: &LoginService) -> Result<Granted, Failed> {
    let listener = RedirectListener::bind(service).await?;
    let login = BrowserLogin::begin(service, listener.port())?;
    say(&format!("To log in, open this page:\n  {}", login.url()));
    let opened = open_on_a_desktop(login.url());
    if !opened {
        say("Then paste the address at which the browser ends, although it shows an error there:");
    }
    let mut lines = lines_of_input();
    let code = loop {
        tokio::select! {
            code = listener.code(&login) => break code?,
            line = lines.recv() => match line {
                Some(line) if line.trim().is_empty() => {}
                Some(line) => match login.code_of_pasted(&line) {
                    Err(error @ LoginError::NotTheAddress(_)) if io::stdin().is_terminal() => {
                        say(&format!("{error}"));
                    }
                    code => break code?,
                },
                None if opened => break listener.code(&login).await?,
                None => return Err(Failed::NoAnswer),
            },
        }
    };
    Ok(login.exchange(code).await?)
}

async fn by_device(service: &LoginService) -> Result<Granted, Failed> {
    let login = DeviceLogin::begin(service).await?;
    let (url, code) = (login.url(), login.code());
    say(&format!("To log in, open this page on any device:\n  {url}\nand type the code {code}"));
    let _opened = open_on_a_desktop(url);
    Ok(Granted::Tokens(login.tokens().await?))
}

/// Returns whether a browser can be shown: there is a display, and this is not a session from elsewhere.
pub(super) fn has_desktop() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let elsewhere = ["SSH_CONNECTION", "SSH_TTY"].into_iter().any(is_set);
    !elsewhere && ["DISPLAY", "WAYLAND_DISPLAY"].into_iter().any(is_set)
}

/// Opens a page in the user's browser. Returns false where there is none.
fn open_on_a_desktop(url: &str) -> bool {
    // The URL was parsed, and begins with http:// or https://.
    has_desktop()
        && Command::new("xdg-open")
            .arg(url)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .is_ok()
}

/// Reads standard input line by line. The thread ends with the process.
fn lines_of_input() -> Receiver<String> {
    let (sender, receiver) = mpsc::channel(1);
    let read = move || {
        let mut input = io::stdin().lock();
        loop {
            let mut line = Vec::new();
            let mut bounded = io::Read::take(&mut input, LONGEST_LINE);
            let read = bounded.read_until(b'\n', &mut line);
            let ended = !matches!(read, Ok(1..));
            let line = String::from_utf8_lossy(&line).into_owned();
            if ended || sender.blocking_send(line).is_err() {
                break;
            }
        }
    };
    // Without a thread nothing can be pasted, and the browser still comes back.
    let _started = std::thread::Builder::new().name("login input".to_owned()).spawn(read);
    receiver
}

fn say(text: &str) {
    crate::process::notify(text);
}
