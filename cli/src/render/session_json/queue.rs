//! The texts of the inputs that wait, rebuilt from the events of the queue.

use protocol::{InputId, QueueKind, SessionEvent};
use serde_json::{Value, json};

/// The steering inputs and follow-ups that wait, oldest first.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: Vec<(InputId, QueueKind, String)>,
}

impl Queue {
    /// Applies an event. Returns the line that says what waits now, if that has changed.
    pub(super) fn update(&mut self, event: &SessionEvent) -> Option<Value> {
        match event {
            SessionEvent::InputQueued { queue: QueueKind::Prompt, .. } => return None,
            SessionEvent::InputQueued { input_id, queue, text } => {
                self.waiting.push((*input_id, *queue, text.clone()));
            }
            SessionEvent::InputTaken { input_id } | SessionEvent::InputDropped { input_id } => {
                let before = self.waiting.len();
                self.waiting.retain(|(id, ..)| id != input_id);
                if self.waiting.len() == before {
                    return None;
                }
            }
            _other => return None,
        }
        let of = |wanted: QueueKind| -> Vec<&String> {
            let texts = self.waiting.iter().filter(|(_, kind, _)| *kind == wanted);
            texts.map(|(_, _, text)| text).collect()
        };
        let (steering, follow_up) = (of(QueueKind::Steering), of(QueueKind::FollowUp));
        Some(json!({ "type": "queue_update", "steering": steering, "followUp": follow_up }))
    }
}
