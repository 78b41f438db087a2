//! Changes of the lists of a server of the newest revision, which reports them to those who listen only.

use std::sync::Arc;
use std::time::Duration;

use engine::ports::McpList;
use rmcp::RoleClient;
use rmcp::model::{ServerNotification, ServerPeerInfo, SubscriptionFilter};
use rmcp::service::Peer;
use tokio_util::task::AbortOnDropHandle;

use crate::client::Client;

/// How often listening is tried again, and the pause before it.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_secs(1);

/// Listens for changes of the lists that the server says may change. Servers of older revisions report them anyway.
pub(crate) fn follow(
    peer: Peer<RoleClient>,
    client: Arc<Client>,
    server: &ServerPeerInfo,
) -> Option<AbortOnDropHandle<()>> {
    let filter = filter(server)?;
    Some(AbortOnDropHandle::new(tokio::spawn(listen(peer, client, filter))))
}

/// Returns what to listen for, if anything.
fn filter(server: &ServerPeerInfo) -> Option<SubscriptionFilter> {
    if server.protocol_version.has_initialize() {
        return None;
    }
    let capabilities = &server.capabilities;
    let wanted = |changes: Option<bool>| changes.filter(|changes| *changes);
    let mut filter = SubscriptionFilter::new();
    filter.tools_list_changed = wanted(capabilities.tools.as_ref().and_then(|it| it.list_changed));
    filter.resources_list_changed =
        wanted(capabilities.resources.as_ref().and_then(|it| it.list_changed));
    filter.prompts_list_changed =
        wanted(capabilities.prompts.as_ref().and_then(|it| it.list_changed));
    (filter != SubscriptionFilter::new()).then_some(filter)
}

async fn listen(peer: Peer<RoleClient>, client: Arc<Client>, filter: SubscriptionFilter) {
    for _try in 0..TRIES {
        if let Ok(mut changes) = peer.listen(filter.clone()).await {
            while let Ok(Some(change)) = changes.next().await {
                match change {
                    ServerNotification::ToolListChangedNotification(_) => {
                        client.changed(McpList::Tools);
                    }
                    ServerNotification::ResourceListChangedNotification(_) => {
                        client.changed(McpList::Resources);
                    }
                    ServerNotification::PromptListChangedNotification(_) => {
                        client.changed(McpList::Prompts);
                    }
                    _ => {}
                }
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}
