//! Approval checks of tools, evaluated between the model and the chat: a check that takes long holds up the model's stream
//! and nothing else.

use futures::{StreamExt, stream::BoxStream};
use tokio::time::sleep;

use crate::{
    fact::Checked,
    model::{ModelError, ModelEvent},
    tool::{ApprovalContext, ApprovalPolicy, CHECK_TIME_LIMIT, ToolSet},
    turn::{CheckedCall, Input},
};

/// The model's stream as inputs of the turn machine.
pub(super) fn checked(
    events: BoxStream<'static, Result<ModelEvent, ModelError>>,
    tools: ToolSet,
    context: ApprovalContext,
) -> BoxStream<'static, Result<Input, ModelError>> {
    let has_checks = tools.iter().any(|tool| matches!(tool.spec.approval, ApprovalPolicy::Check(_)));
    if !has_checks {
        return events.map(|event| event.map(Input::Model)).boxed();
    }
    let input = move |event: Result<ModelEvent, ModelError>| {
        let (tools, context) = (tools.clone(), context.clone());
        async move {
            let event = event?;
            let check = match &event {
                ModelEvent::Call { name, input: Ok(input), .. } => match tools.offered(name).map(|tool| &tool.spec) {
                    // A call with an invalid input is refused anyway, and a check may rely on the schema.
                    Some(spec) if spec.input.check(input).is_ok() => Some(spec.approval.clone()),
                    _ => None,
                },
                _ => None,
            };
            match (check, event) {
                (Some(ApprovalPolicy::Check(check)), ModelEvent::Call { id, name, input: Ok(input) }) => {
                    let reason = check.approval_reason(input.clone(), context, sleep(CHECK_TIME_LIMIT)).await;
                    Ok(Input::CheckedCall(CheckedCall { id, name, input, checked: Checked { reason } }))
                }
                (_, event) => Ok(Input::Model(event)),
            }
        }
    };
    events.then(input).boxed()
}
