//! A model whose answers depend on the seed, the user's last message and the number of steps since.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use futures::{StreamExt, stream, stream::BoxStream};
use holdpoint_protocol::chunk::FinishReason;
use holdpoint_runtime::model::{Model, ModelError, ModelEvent, ModelMessage, ModelRequest, Usage, UserPart};
use serde_json::json;

use super::{condition::Condition, random::Random, tools::NAMES};

/// No more calls after so many steps.
const MOST_STEPS: usize = 3;

#[derive(Debug)]
pub(crate) struct SeededModel {
    pub(crate) seed: u64,
    pub(crate) condition: Arc<Condition>,
}

type Events = VecDeque<(Duration, Result<ModelEvent, ModelError>)>;

impl Model for SeededModel {
    fn name(&self) -> &str {
        "simulated"
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let events = answer(self.seed, &request.messages);
        let state = (events, Arc::clone(&self.condition));
        stream::unfold(state, |(mut events, condition)| async move {
            let (delay, event) = events.pop_front()?;
            if !delay.is_zero() {
                tokio::time::sleep(delay).await;
            }
            condition.passes().await;
            Some((event, (events, condition)))
        })
        .boxed()
    }
}

fn answer(seed: u64, messages: &[ModelMessage]) -> Events {
    let asked = messages.iter().rposition(|message| matches!(message, ModelMessage::User(_)));
    let text = asked.map_or("", |at| match &messages[at] {
        ModelMessage::User(parts) => match parts.first() {
            Some(UserPart::Text(text)) => text.as_str(),
            _ => "",
        },
        _ => "",
    });
    let since = &messages[asked.map_or(0, |at| at + 1)..];
    let steps = since.iter().filter(|message| matches!(message, ModelMessage::Assistant { .. })).count();
    let mut random = Random::new(seed, ("model", text, steps));
    let mut events = Vec::new();
    if random.chance(200) {
        events.extend([ModelEvent::ReasoningDelta("hm ".into()), ModelEvent::ReasoningEnd]);
    }
    if random.chance(500) {
        write(&mut random, text, &mut events);
    }
    let calls = if steps < MOST_STEPS && random.chance(800) { 1 + random.below(3) } else { 0 };
    for number in 0..calls {
        call(&mut random, number, &mut events);
        if random.chance(100) {
            write(&mut random, "between", &mut events);
        }
    }
    if calls == 0 {
        write(&mut random, text, &mut events);
    }
    let mut events: Vec<_> = events.into_iter().map(Ok).collect();
    let usage = Usage { prompt_tokens: 3, completion_tokens: 4, ..Usage::default() };
    let reason = if calls == 0 { FinishReason::Stop } else { FinishReason::ToolCalls };
    if random.chance(40) {
        let error = || ModelError { message: "The model failed.".to_owned(), detail: "simulated".to_owned() };
        events.truncate(random.index(events.len() + 1));
        // Without either, the stream is cut off.
        if random.chance(500) {
            events.push(Err(error()));
        }
    } else {
        events.push(Ok(ModelEvent::Finish { usage, reason, version: None, state: None }));
    }
    let mut delay = || if random.chance(400) { random.millis(300) } else { Duration::ZERO };
    events.into_iter().map(|event| (delay(), event)).collect()
}

fn write(random: &mut Random, text: &str, events: &mut Vec<ModelEvent>) {
    for number in 0..=random.below(3) {
        events.push(ModelEvent::TextDelta(format!("{text} {number} ")));
    }
}

fn call(random: &mut Random, number: u64, events: &mut Vec<ModelEvent>) {
    let name = if random.chance(30) { "nonsense" } else { NAMES[random.index(NAMES.len())] };
    let (id, name) = (format!("theirs {number}"), name.to_owned());
    let n = random.below(1000);
    let text = json!({ "n": n }).to_string();
    if random.chance(600) {
        events.push(ModelEvent::InputStart { id: id.clone(), name: name.clone() });
        let (a, b) = text.split_at(random.index(text.len()));
        events.extend([a, b].map(|delta| ModelEvent::InputDelta { id: id.clone(), delta: delta.to_owned() }));
        if random.chance(30) {
            // The model never completes it.
            return;
        }
    }
    let input = if random.chance(30) { Err("{\"n\":".to_owned()) } else { Ok(json!({ "n": n })) };
    events.push(ModelEvent::Call { id, name, input });
}
