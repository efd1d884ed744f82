//! What runs in a chat on this node: the model's stream, the tools, and the prompts that these wait for.
//!
//! Nothing runs when the task starts, whatever the log says. Work begins with a fact on disk that says so (`react.rs`), and each
//! piece ends by itself, with a fact that ends it, or with the turn when another node takes that over. What still runs when the
//! task ends is aborted with it, and recovered by whoever loads the chat next: tools whose calls can be resumed are left like
//! that when the server shuts down.
//!
//! Invariants:
//! - The model's stream is read only in a step that this node has begun. It is dropped with the end of the step.
//! - Every running tool has a gate. Cancelling a tool closes the gate for good; a tool that does not end then is aborted.
//! - Whoever waits for the answer to a prompt gets one: the answer, or the end of its channel.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use futures::{FutureExt, StreamExt, stream};
use holdpoint_protocol::ids::{ChatId, ToolCallId};
use serde_json::Value;
use tokio::{
    sync::oneshot,
    task::{AbortHandle, Id, JoinError, JoinSet},
    time::Instant,
};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::{
    call::Call,
    chat::Chat,
    driver::{
        agent::{Agent, Offer, TurnTools},
        checkpoint::ConversationSource,
        checks::checked,
        command::ChatError,
        gate::{CallGate, ClosedGates},
        keeper::keeper,
        progress,
        ready::ReadyEvents,
        running::Place,
        runtime::Inner,
        tool_run::{End, Ran, ToolRun, prompt_response, prompter},
    },
    fact::{Cause, Fact, Outcome},
    model::{Model, ModelError, ModelRequest},
    subject::Subject,
    tool::{ApprovalContext, CANCELLATION_GRACE, Execution, PromptResponse, ToolContext, ToolSet},
    turn::Input,
};

/// A tool that runs.
struct RunningTool {
    call: ToolCallId,
    handle: AbortHandle,
    cancellation: CancellationToken,
    gate: Arc<CallGate>,
}

/// What a call is started with, besides what is recorded of it.
pub(super) struct Start {
    /// The owner of the chat.
    pub(super) subject: Subject,
    /// The chat was certainly this node's then.
    pub(super) owned_at: Instant,
    /// The position of the tool's last output, if that is of a turn that is not in memory.
    pub(super) last_output: Option<u64>,
}

/// What has come of the work.
pub(super) enum Progress {
    /// A tool has ended.
    Tool(Result<(Id, Ran), JoinError>),
    /// The model has written; `None` if its stream ended without an end.
    Model(Option<Vec<Result<Input, ModelError>>>),
}

/// The running work of a chat.
pub(in crate::driver) struct Work {
    inner: Arc<Inner>,
    chat: ChatId,
    /// The agent that the program chose for this chat.
    agent: Option<Agent>,
    /// The tools that the model was offered in the first step of the turn that this task has seen.
    turn_tools: TurnTools,
    /// Whether the turn began before this task, or on another node.
    is_resumed_turn: bool,
    /// The turn's place among the running turns.
    place: Option<Place>,
    model: Option<ReadyEvents>,
    tools: JoinSet<Ran>,
    running: HashMap<Id, RunningTool>,
    /// Where tools wait for the answer to a prompt.
    prompts: BTreeMap<ToolCallId, oneshot::Sender<PromptResponse>>,
    last_outputs: HashMap<String, Arc<Value>>,
}

impl Work {
    /// Nothing yet. With `is_resumed_turn`, there is a turn that began before.
    pub(super) fn new(inner: Arc<Inner>, chat: ChatId, is_resumed_turn: bool) -> Self {
        Self {
            inner,
            chat,
            agent: None,
            turn_tools: TurnTools::default(),
            is_resumed_turn,
            place: None,
            model: None,
            tools: JoinSet::new(),
            running: HashMap::new(),
            prompts: BTreeMap::new(),
            last_outputs: HashMap::new(),
        }
    }

    /// Asks the program for the agent of this chat.
    pub(super) fn choose_agent(&mut self, owner: &Subject) {
        self.agent = self.inner.chosen_agent(&self.chat, owner);
    }

    /// The tools of this chat.
    pub(in crate::driver) fn tools(&self) -> ToolSet {
        self.agent.as_ref().map_or_else(|| self.inner.tools(), |agent| agent.tools.clone())
    }

    /// The model of this chat.
    pub(super) fn model(&self) -> &Arc<dyn Model> {
        self.agent.as_ref().map_or(&self.inner.model, |agent| &agent.model)
    }

    /// Whether nothing runs.
    pub(super) fn is_idle(&self) -> bool {
        self.model.is_none() && self.tools.is_empty()
    }

    /// What comes of it next. Cancel-safe.
    pub(super) async fn next(&mut self) -> Progress {
        tokio::select! {
            biased;
            Some(ended) = self.tools.join_next_with_id(), if !self.tools.is_empty() => Progress::Tool(ended),
            events = next_events(&mut self.model), if self.model.is_some() => Progress::Model(events),
            else => std::future::pending().await,
        }
    }

    /// Keeps the output of a call for the next one of its tool.
    pub(super) fn note_output(&mut self, fact: &Fact, state: &Chat) {
        if let Fact::Settled { call, outcome: Outcome::Output(output), .. } = fact
            && let Some(call) = state.calls.get(call)
        {
            self.last_outputs.insert(call.name.clone(), Arc::new(output.clone()));
        }
    }

    /// A turn has begun, here or on another node.
    pub(super) fn turn_began(&mut self, is_here: bool) {
        self.turn_tools = TurnTools::default();
        self.is_resumed_turn = !is_here;
    }

    /// Counts the turn while it runs here, but not while it waits.
    pub(super) fn count_turn(&mut self, is_running: bool, owner: Option<&Subject>) {
        match (is_running, &self.place, owner) {
            (true, None, Some(owner)) => self.place = Some(self.inner.running.resume(&self.chat, owner)),
            (false, Some(_), _) => self.place = None,
            _ => {}
        }
    }

    /// Whether the turn has a place among the running turns.
    pub(super) fn has_place(&self) -> bool {
        self.place.is_some()
    }

    /// The turn that is to begin has this place.
    pub(super) fn take_place(&mut self, place: Place) {
        self.place = Some(place);
    }

    /// Asks the model for the step that has begun.
    pub(super) fn ask_model(&mut self, conversation: ConversationSource, subject: Subject) {
        let model = Arc::clone(self.model());
        let (own, turn_tools) = (self.agent.as_ref().map(|agent| agent.tools.clone()), self.turn_tools.clone());
        let (inner, context) = (Arc::clone(&self.inner), ApprovalContext::new(self.chat.clone(), subject));
        let is_resumed = self.is_resumed_turn && own.is_none();
        let step = async move {
            if is_resumed {
                // After a restart, the model is to have the tools that it had.
                inner.tools_to_come().await;
            }
            let tools = own.unwrap_or_else(|| inner.tools());
            let Offer { tools: specs, instructions } = turn_tools.of(&tools);
            let step = async move {
                match conversation.read().await {
                    Ok(messages) => {
                        model.stream(ModelRequest { messages: messages.into(), tools: specs, instructions })
                    }
                    Err(error) => stream::iter([Err(unread(&error))]).boxed(),
                }
            };
            checked(inner.metrics.model(step.flatten_stream().boxed()), tools, context)
        };
        self.model = Some(ReadyEvents::of(step.flatten_stream().boxed()));
    }

    /// Discards the rest of the model's stream.
    pub(super) fn end_model(&mut self) {
        self.model = None;
    }

    /// Runs the tool of a call that has been started, unless the browser does.
    pub(super) fn start_tool(&mut self, id: &ToolCallId, call: &Call, start: Start) {
        if call.execution == Execution::Frontend {
            return;
        }
        let Start { subject, owned_at, last_output } = start;
        let cancellation = self.inner.cancelling.child_token();
        let gate = CallGate::new(&self.inner, &self.chat, owned_at, cancellation.clone());
        let span =
            tracing::info_span!("call", chat = %self.chat, call = %id, tool = call.name, subject = subject.as_str());
        let context = ToolContext::of_call(self.chat.clone(), subject, id.clone(), Arc::clone(&gate) as _);
        let mut context = context.with_state(keeper(&self.inner, &self.chat, id), call.resume.clone());
        let (reporter, reported) = progress::reporter();
        context.cancellation = cancellation.clone();
        context.last_output = self.last_outputs.get(&call.name).cloned();
        context.prompter = Some(prompter(&self.inner, &self.chat, id));
        context.reporter = Some(reporter);
        let run = ToolRun {
            inner: Arc::clone(&self.inner),
            chat: self.chat.clone(),
            name: call.name.clone(),
            origin: call.origin.clone(),
            input: call.input.clone(),
            tool: self.tools().of_origin(&call.name, call.origin.as_ref()).cloned(),
            has_own_tools: self.agent.is_some(),
            is_resumed: call.resume.is_some(),
            last_output: last_output.filter(|_| context.last_output.is_none()),
            gate: Arc::clone(&gate),
            context,
            reported,
            timer: self.inner.metrics.tool(&call.name),
        };
        let handle = self.tools.spawn(run.run(id.clone()).instrument(span));
        self.running.insert(handle.id(), RunningTool { call: id.clone(), handle, cancellation, gate });
    }

    /// Whether a call's tool runs.
    pub(in crate::driver) fn is_running(&self, call: &ToolCallId) -> bool {
        self.running.values().any(|running| running.call == *call)
    }

    /// Closes the gates of the running calls for inputs that may end them.
    pub(super) async fn close_gates(&mut self, inputs: &[Input]) -> ClosedGates {
        let may_end = |input: &Input| matches!(input, Input::Stop { .. } | Input::Submit(_) | Input::Follow { .. });
        let mut closed = ClosedGates::default();
        if inputs.iter().any(may_end) {
            for RunningTool { call, gate, .. } in self.running.values() {
                closed.close(call, gate).await;
            }
        }
        closed
    }

    /// A tool has ended: the input that follows from it.
    pub(super) async fn tool_ended(&mut self, ended: Result<(Id, Ran), JoinError>) -> Option<Input> {
        let (task, Ran { end, files }) = match ended {
            Ok(ended) => ended,
            Err(error) if error.is_cancelled() => {
                self.running.remove(&error.id());
                return None;
            }
            Err(error) => {
                tracing::error!(chat = %self.chat, %error, "a tool panicked");
                let gate = Arc::clone(&self.running.get(&error.id())?.gate);
                let end = gate.given_up("The tool failed unexpectedly".to_owned()).await;
                (error.id(), Ran { end, files: Vec::new() })
            }
        };
        let RunningTool { call, .. } = self.running.remove(&task)?;
        Some(match end {
            End::Ran(outcome) => Input::ToolDone { call, outcome, files: files.into() },
            End::CutOff { may_have_run, said } => Input::ToolCutOff { call, may_have_run, said },
        })
    }

    /// A tool waits for the answer to a prompt.
    pub(in crate::driver) fn await_answer(&mut self, prompt: ToolCallId, response: oneshot::Sender<PromptResponse>) {
        self.prompts.insert(prompt, response);
    }

    /// A call is settled: whoever waits for its answer gets it, and its tool is cancelled.
    pub(super) fn settled(&mut self, call: &ToolCallId, outcome: &Outcome, cause: Cause) {
        if let Some(answer) = self.prompts.remove(call) {
            let _ = answer.send(prompt_response(outcome, cause));
        }
        if let Some(running) = self.running.values().find(|running| running.call == *call) {
            running.cancellation.cancel();
            let handle = running.handle.clone();
            tokio::spawn(async move {
                tokio::time::sleep(CANCELLATION_GRACE).await;
                handle.abort();
            });
        }
    }

    /// The server shuts down. The tools whose calls can be resumed end without an outcome: whoever starts next goes on with
    /// them. Nobody will answer a prompt any more, so that the others can finish.
    pub(super) fn suspend(&mut self, state: &Chat) {
        self.running.retain(|_, running| {
            let can_resume = state.calls.get(&running.call).is_some_and(|call| call.resume.is_some());
            if can_resume {
                running.handle.abort();
            }
            !can_resume
        });
        self.prompts.clear();
    }

    /// Ends whatever runs: the turn is another node's now, or this task ends.
    pub(super) async fn end(&mut self) {
        self.model = None;
        self.tools.shutdown().await;
        self.running.clear();
        self.prompts.clear();
        self.place = None;
    }
}

/// The next events of the model's stream, if it is open.
async fn next_events<S: futures::Stream + Unpin>(stream: &mut Option<S>) -> Option<S::Item> {
    match stream {
        Some(stream) => stream.next().await,
        None => None,
    }
}

/// The conversation can't be read, so the model can't be called.
fn unread(error: &ChatError) -> ModelError {
    let message = "The earlier messages of this chat can't be read at the moment. Please try again.".to_owned();
    ModelError { message, detail: format!("the conversation can't be read: {error}") }
}
