//! The rules, by their ids.

use std::fmt;

use serde::{Serialize, Serializer};

macro_rules! rules {
    ($($id:ident $text:literal)*) => {
        /// A rule that keeps a client from throwing, hanging, duplicating or looping. `docs/rules.md` says when each is
        /// broken.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Rule { $(#[doc = $text] $id,)* }

        impl Rule {
            /// All of them.
            pub const ALL: &[Rule] = &[$(Rule::$id),*];

            /// The id, as printed.
            pub fn id(self) -> &'static str {
                match self { $(Rule::$id => stringify!($id),)* }
            }

            /// The rule in one sentence.
            pub fn text(self) -> &'static str {
                match self { $(Rule::$id => $text,)* }
            }
        }
    };
}

rules! {
    F1 "An answer has a 2xx status and a body."
    F2 "An event is `data: JSON` and a blank line."
    F3 "Every payload but `[DONE]` is an object with a string `type`."
    F4 "No `__proto__` key and no `constructor.prototype` anywhere."
    F5 "A segment ends with `finish`, `error` or `abort`."
    S1 "Known chunk types only."
    S2 "Optional means left out, never null."
    S3 "Required keys are there, and every key has its type."
    S4 "`finishReason` is one of the SDK's."
    S5 "No extra keys."
    S6 "`providerMetadata` is an object of objects, `messageMetadata` an object."
    M1 "`start` with a `messageId` comes first, and once."
    M2 "A new message has a new id."
    M3 "A continuation has the id of the message that it continues."
    M4 "Regenerate starts from an empty message."
    B1 "A block is started, written, ended."
    B2 "A block is ended before `finish-step`."
    B3 "An open block is not started again."
    T1 "An input's deltas come after its start in the same response."
    T2 "Outcomes and questions are for calls of the current message."
    T3 "A call keeps its `dynamic` flag and its step."
    T4 "A `toolCallId` is one call of one tool in the whole chat."
    T5 "A call is not announced again after its question or its outcome."
    T6 "An `approvalId` is used once in a message, unless its answer is not in force."
    T7 "`tool-output-denied` is for a call that was asked about and shows no output."
    T8 "A replay does not announce a settled call as available."
    T9 "Exactly one outcome for a call."
    T10 "An edited input comes before any step of its response."
    A1 "A response does not end on a step whose calls are all settled."
    A2 "An empty step counts only when something writes it."
    A3 "`start-step` comes before a continuation's new content."
    A4 "A continuation settles every answered approval."
    A5 "No denied call beside a pending approval in one step."
    A6 "A1 holds after `abort` too."
    A7 "`error` is terminal."
    R1 "Resume is a plain GET, without a cursor."
    R2 "A resume is answered with 2xx or 204."
    R3 "A resume replays the whole message."
    R4 "History leaves out the message in progress."
    W1 "A frame is an object with string `type` and `requestId`."
    W2 "`sequence` counts from 0 without a gap."
    W3 "Known frame types and valid chunks only."
    W4 "Every request is ended, and a resume is answered by `start` first."
    K1 "adk over SSE has no steps."
    K2 "adk live wraps each approval request in a step of its own, right after the call's input."
    K3 "No text before the last approval request of the turn."
    K4 "No result and no text in an intermediate segment."
    K5 "`[DONE]` once a segment over SSE, once a turn on live."
    K6 "No `[DONE]` between the approval of a frontend call and its result."
    K7 "adk live: one call at a time."
    K8 "adk over SSE: the outcomes of a step come together."
    K9 "Every call of a turn gets its outcome, the client's own result included."
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.id())
    }
}

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}
