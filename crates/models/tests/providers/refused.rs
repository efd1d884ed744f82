//! Files that only the provider knows it can't take: the request is made once more without them, and the chat goes on.

use std::sync::Arc;

use futures::StreamExt;
use holdpoint_runtime::{
    model::{Model, ModelCall, ModelMessage, ModelResult, ResultCause, UserPart, provider::Provider},
    tool::StoredFile,
};
use serde_json::json;

use crate::{
    Event, check, failure, model, request, said,
    server::{Fake, Reply},
    text,
    wires::{Answer, Wire},
};

crate::for_all!(
    a_refused_picture_is_left_out,
    the_first_error_stands,
    only_the_new_file_is_left_out,
    a_refused_picture_of_a_tool_is_left_out,
    an_empty_picture_is_not_sent,
    the_next_model_gets_the_file,
    faults_of_the_server_are_tried_again_first,
);

const FIRST: &str = "iVBORw0KGgoAAAAN";
const SECOND: &str = "iVBORw0KGgoAAAAO";

fn fine(wire: &dyn Wire) -> Reply {
    wire.answer(&Answer { text: vec!["Here I am."], ..Answer::default() })
}

fn refused(status: u16, why: &str) -> Reply {
    Reply::error(status, format!(r#"{{"error": {{"message": "{why}"}}}}"#))
}

fn picture(data: &str, name: &str) -> ModelMessage {
    let url = format!("data:image/png;base64,{data}");
    let file = UserPart::File { media_type: "image/png".into(), url, filename: Some(name.to_owned()) };
    ModelMessage::User(vec![UserPart::Text("What is this?".into()), file])
}

fn answered() -> ModelMessage {
    ModelMessage::Assistant { text: "Here I am.".into(), calls: Vec::new(), state: None }
}

async fn ask(model: &impl Model, messages: Vec<ModelMessage>) -> Vec<Event> {
    let events: Vec<Event> = model.stream(request(messages)).collect().await;
    check(&events);
    events
}

fn told(name: &str) -> String {
    format!("{name} (image/png) was not sent: the model did not accept it.")
}

async fn a_refused_picture_is_left_out(wire: &dyn Wire) {
    for status in [400, 404, 413, 415, 422] {
        let fake = Fake::start([refused(status, "no pictures"), fine(wire), fine(wire), fine(wire)]).await;
        let model = model(wire, &fake.url, Default::default());
        let events = ask(&model, vec![picture(FIRST, "cat.png")]).await;
        assert_eq!(text(&events), format!("{}Here I am.", told("cat.png")), "{status}");
        // Later messages of the chat: the file is not sent again, and nobody is told again.
        let events = ask(&model, vec![picture(FIRST, "cat.png"), answered(), said("And now?")]).await;
        assert_eq!(text(&events), "Here I am.");
        // Another picture may be a good one: this one may have been broken.
        let events = ask(&model, vec![picture(SECOND, "dog.png")]).await;
        assert_eq!(text(&events), "Here I am.");
        let has: Vec<(bool, bool)> = fake
            .asked()
            .iter()
            .map(|asked| asked.body.to_string())
            .map(|body| (body.contains(FIRST), body.contains(SECOND)))
            .collect();
        assert_eq!(has, [(true, false), (false, false), (false, false), (false, true)], "{status}");
        let body = fake.asked()[1].body.to_string();
        assert!(body.contains("cat.png") && body.contains("not included"), "the model is told: {body}");
    }
}

async fn the_first_error_stands(wire: &dyn Wire) {
    let fake = Fake::start([refused(400, "the first"), refused(400, "the second"), fine(wire), fine(wire)]).await;
    let model = model(wire, &fake.url, Default::default());
    let events = ask(&model, vec![picture(FIRST, "cat.png")]).await;
    let error = failure(&events);
    assert!(error.message.contains("did not accept the request"), "{error:?}");
    assert!(error.detail.contains("the first") && !error.detail.contains("the second"), "{error:?}");
    assert_eq!(fake.asked().len(), 2, "once more, and no more");
    // It was not the picture.
    let events = ask(&model, vec![picture(FIRST, "cat.png")]).await;
    assert_eq!(text(&events), "Here I am.");
    assert!(fake.asked()[2].body.to_string().contains(FIRST));

    // Without files there is nothing to leave out.
    let fake = Fake::start([refused(400, "the first"), fine(wire)]).await;
    let model = crate::model(wire, &fake.url, Default::default());
    failure(&ask(&model, vec![said("Hi")]).await);
    assert_eq!(fake.asked().len(), 1);
}

async fn only_the_new_file_is_left_out(wire: &dyn Wire) {
    let fake = Fake::start([refused(400, "no"), fine(wire), refused(400, "no"), refused(400, "no"), fine(wire)]).await;
    let messages = || vec![picture(FIRST, "cat.png"), answered(), picture(SECOND, "dog.png")];
    let events = ask(&model(wire, &fake.url, Default::default()), messages()).await;
    assert_eq!(text(&events), format!("{}Here I am.", told("dog.png")));
    // After a restart nothing is known: the older one is left out if that is what it takes.
    let events = ask(&model(wire, &fake.url, Default::default()), messages()).await;
    assert_eq!(text(&events), format!("{}\n{}Here I am.", told("cat.png"), told("dog.png")));
    let bodies: Vec<String> = fake.asked().iter().map(|asked| asked.body.to_string()).collect();
    assert!(bodies[1].contains(FIRST) && !bodies[1].contains(SECOND), "{}", bodies[1]);
    assert!(!bodies[4].contains(FIRST) && !bodies[4].contains(SECOND), "{}", bodies[4]);
}

/// A conversation in which a tool has returned a file.
fn looked(media_type: &str, data: &str) -> Vec<ModelMessage> {
    let (id, name) = (holdpoint_protocol::ids::ToolCallId::from("a"), "look".to_owned());
    let result = ModelResult {
        id: id.clone(),
        name: name.clone(),
        outcome: Ok(json!({"link": "/api/chat/c/files/a/0"})),
        cause: ResultCause::Reported,
        files: Arc::new([StoredFile { media_type: media_type.into(), data: data.into() }]),
    };
    let call = ModelCall { id, name, input: json!({}) };
    let called = ModelMessage::Assistant { text: String::new(), calls: vec![call], state: None };
    vec![said("Look"), called, ModelMessage::Results(vec![result])]
}

async fn a_refused_picture_of_a_tool_is_left_out(wire: &dyn Wire) {
    // Whether a model of Ollama can see is not known, so it gets the link.
    if wire.provider() == Provider::Ollama {
        return;
    }
    let fake = Fake::start([refused(400, "no pictures"), fine(wire), fine(wire)]).await;
    let model = model(wire, &fake.url, Default::default());
    let events = ask(&model, looked("image/png", FIRST)).await;
    assert_eq!(text(&events), format!("{}Here I am.", told("A file of look")));
    let events = ask(&model, [looked("image/png", FIRST), vec![answered(), said("And now?")]].concat()).await;
    assert_eq!(text(&events), "Here I am.");
    let bodies: Vec<String> = fake.asked().iter().map(|asked| asked.body.to_string()).collect();
    assert!(bodies[0].contains(FIRST) && !bodies[1].contains(FIRST) && !bodies[2].contains(FIRST), "{bodies:#?}");
    assert!(bodies[1].contains("/api/chat/c/files/a/0") && bodies[1].contains("not included"), "{}", bodies[1]);
    // Its result has a link and nothing that the provider would refuse.
    let fake = Fake::start([fine(wire)]).await;
    ask(&crate::model(wire, &fake.url, Default::default()), looked("image/png", "")).await;
    assert!(!fake.asked()[0].body.to_string().contains("image/png"), "{}", fake.asked()[0].body);
}

async fn an_empty_picture_is_not_sent(wire: &dyn Wire) {
    let fake = Fake::start([fine(wire)]).await;
    let events = ask(&model(wire, &fake.url, Default::default()), vec![picture("", "cat.png")]).await;
    assert_eq!(text(&events), "cat.png (image/png) was not sent: it is empty.Here I am.");
    let body = fake.asked()[0].body.to_string();
    assert!(!body.contains("base64") && body.contains("cat.png"), "{body}");
}

/// What one model has refused, another one may take.
async fn the_next_model_gets_the_file(wire: &dyn Wire) {
    let (blind, other) = (
        Fake::start([refused(400, "no"), refused(400, "no")]).await,
        Fake::start([refused(422, "no"), fine(wire)]).await,
    );
    let of = |fake: &Fake| model(wire, &fake.url, Default::default());
    let events = ask(&of(&blind).with_fallbacks([of(&other)]), vec![picture(FIRST, "cat.png")]).await;
    assert_eq!(text(&events), format!("{}Here I am.", told("cat.png")));
    assert_eq!((blind.asked().len(), other.asked().len()), (2, 2));
    assert!(other.asked()[0].body.to_string().contains(FIRST));
}

/// llama.cpp answers a picture that its model can't see with 500: <https://github.com/ggml-org/llama.cpp/issues/15377>.
async fn faults_of_the_server_are_tried_again_first(wire: &dyn Wire) {
    let fault = || refused(500, "image input is not supported");
    let fake = Fake::start([fault(), fault(), fault(), fault(), fine(wire)]).await;
    let events = ask(&model(wire, &fake.url, Default::default()), vec![picture(FIRST, "cat.png")]).await;
    assert_eq!(text(&events), format!("{}Here I am.", told("cat.png")));
    assert!(fake.asked()[3].body.to_string().contains(FIRST), "four times with it");
    // The file did not cause the overload.
    let fault = || refused(503, "overloaded");
    let fake = Fake::start([fault(), fault(), fault(), fault(), fine(wire)]).await;
    failure(&ask(&model(wire, &fake.url, Default::default()), vec![picture(FIRST, "cat.png")]).await);
}
