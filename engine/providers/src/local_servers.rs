//! Finds the models of servers on this machine. A server is asked only if its listening socket
//! belongs to this user or to root: another user of the machine could otherwise get prompts.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::net::TcpStream;
use tokio::time::timeout;
use url::{Host, Url};

use crate::http_client::{Clients, is_near};
use crate::preflight::model_names;

/// How long all servers together may take. A start with them takes 300 milliseconds more at most than
/// one without; the rest of that is for the connections.
const TIMEOUT: Duration = Duration::from_millis(250);

/// The maximum number of models that are taken of a server.
const MOST: usize = 1_000;

/// What was found of a server on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalServer {
    /// Its provider.
    pub provider: String,
    /// What was found.
    pub found: LocalFound,
}

/// What was found at the address of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LocalFound {
    /// It has these models.
    Models(Vec<String>),
    /// No program listens there.
    Nothing,
    /// The socket belongs to another user, so it was not asked.
    OtherUser,
    /// It did not answer with a list of models in time.
    Silent,
}

/// Asks servers side by side for their models. Each has the name of its provider and a base URL; one
/// that is not on this machine is not asked.
pub async fn local_servers(servers: &[(String, String)]) -> Vec<LocalServer> {
    let clients = Clients::default();
    let servers = servers.iter().filter_map(|(provider, address)| {
        let base = Url::parse(address).ok().filter(is_near)?;
        Some((provider, base))
    });
    // The kernel takes milliseconds for them, so they are read once, and only if a server listens.
    let tables = LazyLock::new(SocketTables::read);
    let (clients, tables) = (&clients, &tables);
    let asked = servers.map(|(provider, base)| async move {
        let owner = match accepts(&base).await {
            true => tables.owner(&base),
            false => SocketOwner::Nobody,
        };
        let found = match owner {
            SocketOwner::Nobody => LocalFound::Nothing,
            SocketOwner::Other => LocalFound::OtherUser,
            SocketOwner::Trusted => {
                let asked = timeout(TIMEOUT, models_at(clients, base)).await;
                asked.ok().flatten().map_or(LocalFound::Silent, LocalFound::Models)
            }
        };
        LocalServer { provider: provider.clone(), found }
    });
    join_all(asked).await
}

async fn models_at(clients: &Clients, mut base: Url) -> Option<Vec<String>> {
    let client = clients.client_for(&base).ok()?;
    base.path_segments_mut().ok()?.pop_if_empty().push("models");
    let mut names = model_names(client.get(base).send().await.ok()?).await?;
    names.retain(|name| (1..=256).contains(&name.len()) && !name.chars().any(char::is_control));
    names.truncate(MOST);
    Some(names)
}

/// Whose the sockets are that listen at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SocketOwner {
    /// There is none.
    Nobody,
    /// This user's or root's, all of them.
    Trusted,
    /// One belongs to another user, or its user is unknown.
    Other,
}

/// Returns whether a connection to an address of this machine is not refused. Nothing is sent.
async fn accepts(base: &Url) -> bool {
    let Some(port) = base.port_or_known_default() else { return false };
    let addresses = match base.host() {
        Some(Host::Ipv4(address)) => vec![IpAddr::V4(address)],
        Some(Host::Ipv6(address)) => vec![IpAddr::V6(address)],
        _ => vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
    };
    let connected = addresses.into_iter().map(|address| async move {
        // A server that is too busy to accept is there too.
        !matches!(timeout(TIMEOUT, TcpStream::connect((address, port))).await, Ok(Err(_)))
    });
    join_all(connected).await.contains(&true)
}

/// The sockets of this machine, as `/proc/net/tcp` and `/proc/net/tcp6` list them.
struct SocketTables {
    /// `None` if they cannot be read.
    tables: Option<[String; 2]>,
    user: u32,
}

impl SocketTables {
    fn read() -> Self {
        let table = |name: &str| std::fs::read_to_string(format!("/proc/self/net/{name}"));
        // A machine without IPv6 has no such table.
        let tables = table("tcp").ok().map(|four| [four, table("tcp6").unwrap_or_default()]);
        Self { tables, user: rustix::process::geteuid().as_raw() }
    }

    fn owner(&self, base: &Url) -> SocketOwner {
        match (base.port_or_known_default(), &self.tables) {
            (Some(port), Some([four, six])) => owner_in(&[four, six], port, self.user),
            _ => SocketOwner::Other,
        }
    }
}

/// Returns whose the sockets are that listen at `port` of this machine, by the tables of the kernel.
fn owner_in(tables: &[&str], port: u16, user: u32) -> SocketOwner {
    let mut owner = SocketOwner::Nobody;
    for line in tables.iter().flat_map(|table| table.lines().skip(1)) {
        let mut words = line.split_whitespace().skip(1);
        let (Some(local), Some(state)) = (words.next(), words.nth(1)) else { continue };
        let uid = words.nth(3).and_then(|uid| uid.parse::<u32>().ok());
        let Some((address, there)) = local.split_once(':') else { continue };
        let listens = state == "0A" && u16::from_str_radix(there, 16) == Ok(port);
        if !listens || !reaches_here(address) {
            continue;
        }
        if uid.is_some_and(|uid| uid == user || uid == 0) {
            owner = SocketOwner::Trusted;
        } else {
            return SocketOwner::Other;
        }
    }
    owner
}

/// Returns whether a socket that is bound to this address gets what is sent to this machine. The
/// kernel writes an address as words in the order of the machine.
fn reaches_here(address: &str) -> bool {
    let word = |at: usize| {
        let text = address.get(8 * at..8 * at + 8)?;
        u32::from_str_radix(text, 16).ok().map(u32::to_ne_bytes)
    };
    let address = match address.len() {
        8 => word(0).map(|it| IpAddr::V4(Ipv4Addr::from(it))),
        32 => (0..4).map(word).collect::<Option<Vec<_>>>().and_then(|words| {
            let bytes: [u8; 16] = words.concat().try_into().ok()?;
            let six = Ipv6Addr::from(bytes);
            Some(six.to_ipv4_mapped().map_or(IpAddr::V6(six), IpAddr::V4))
        }),
        _ => None,
    };
    address.is_none_or(|address| address.is_loopback() || address.is_unspecified())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";

    fn line(address: &str, port: u16, state: &str, uid: u32) -> String {
        format!(
            "   0: {address}:{port:04X} 00000000:0000 {state} 00000000:00000000 00:00000000 00000000 {uid:>5}        0 4242 1 0000000000000000 100 0 0 10 0\n"
        )
    }

    #[test]
    fn only_a_socket_of_this_user_or_of_root_is_trusted() {
        let (here, any) = ("0100007F", "00000000");
        let mapped = "0000000000000000FFFF00000100007F";
        let any_six = "00000000000000000000000000000000";
        let elsewhere = "0101A8C0";
        let cases = [
            (vec![], SocketOwner::Nobody),
            (vec![line(here, 11434, "0A", 1000)], SocketOwner::Trusted),
            (vec![line(any, 11434, "0A", 0)], SocketOwner::Trusted),
            (vec![line(here, 11434, "0A", 1001)], SocketOwner::Other),
            (vec![line(mapped, 11434, "0A", 1001)], SocketOwner::Other),
            (vec![line(any_six, 11434, "0A", 1000)], SocketOwner::Trusted),
            (vec![line(here, 11434, "0A", 1000), line(any, 11434, "0A", 1001)], SocketOwner::Other),
            (vec![line(here, 11435, "0A", 1001)], SocketOwner::Nobody),
            (vec![line(here, 11434, "01", 1001)], SocketOwner::Nobody),
            (vec![line(elsewhere, 11434, "0A", 1001)], SocketOwner::Nobody),
            (vec!["   0: nonsense\n".to_owned()], SocketOwner::Nobody),
        ];
        for (lines, expected) in cases {
            let table = format!("{HEAD}{}", lines.concat());
            assert_eq!(owner_in(&["", &table], 11434, 1000), expected, "{table}");
        }
    }

    #[test]
    async fn a_socket_of_this_process_is_its_own_and_a_closed_one_is_nobodys() {
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let base = Url::parse(&format!("http://{}/v1", socket.local_addr().unwrap())).unwrap();
        assert_eq!(SocketTables::read().owner(&base), SocketOwner::Trusted);
        assert!(accepts(&base).await);
        // No other program can listen there meanwhile.
        let (_closed, url) = crate::test_support::closed();
        let closed = Url::parse(&url).unwrap();
        assert_eq!(SocketTables::read().owner(&closed), SocketOwner::Nobody);
        assert!(!accepts(&closed).await);
    }

    #[test]
    async fn a_server_elsewhere_is_never_asked_and_a_silent_one_is_told() {
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let silent = format!("http://{}/v1", socket.local_addr().unwrap());
        let far = "http://192.0.2.1:8080/v1".to_owned();
        let servers = [("ollama".to_owned(), silent), ("llama.cpp".to_owned(), far)];
        let expected = LocalServer { provider: "ollama".to_owned(), found: LocalFound::Silent };
        assert_eq!(local_servers(&servers).await, [expected]);
    }
}
