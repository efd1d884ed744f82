//! A redirect would take the key, the headers and the conversation to another host: none is followed.

use futures::StreamExt;
use holdpoint_runtime::{
    model::{
        Model,
        provider::{ProviderModel, ProviderSettings},
    },
    tool::Secret,
};

use crate::{
    KEY, failure, request, said,
    server::{Fake, Reply},
    spec,
    wires::{self, Answer},
};

/// In real time: the clients are those of a server, with time limits.
#[tokio::test]
async fn no_redirect_is_followed() {
    for wire in wires::ALL {
        for status in [301, 302, 307, 308] {
            let elsewhere = Fake::start([wire.answer(&Answer { text: vec!["Got it."], ..Answer::default() })]).await;
            let url = elsewhere.url.replace("127.0.0.1", "localhost");
            let location = format!("{}/steal?key={KEY}", url.replace("http://", "http://user:word@"));
            let fake = Fake::start([Reply::error(status, "{}").with("location", &location)]).await;
            let settings = ProviderSettings {
                base_url: Some(wire.base(&fake.url)),
                api: wire.api(),
                headers: vec![("x-team".to_owned(), Secret::new("red-and-secret"))],
                ..ProviderSettings::default()
            };
            let variable = |name: &str| (name == wire.provider().key_variable()).then(|| KEY.to_owned());
            let model = ProviderModel::new(spec(wire), settings, variable).expect("a model");
            let events: Vec<_> = model.stream(request(vec![said("Hi")])).collect().await;
            let error = failure(&events);
            assert_eq!((elsewhere.asked().len(), fake.asked().len()), (0, 1), "{status}: {error:?}");
            assert!(error.message.contains("redirect") && error.message.contains("base URL"), "{}", error.message);
            assert!(error.detail.contains(&url) && !error.detail.contains("steal"), "the origin only: {error:?}");
            assert!(!error.detail.contains("word") && !error.message.contains("localhost"), "{error:?}");
            let probed = {
                let fake = Fake::start([Reply::error(status, "{}").with("location", &location)]).await;
                let settings = ProviderSettings {
                    base_url: Some(wire.base(&fake.url)),
                    api: wire.api(),
                    ..ProviderSettings::default()
                };
                ProviderModel::new(spec(wire), settings, variable).expect("a model").probe().await
            };
            assert!(probed.expect_err("redirected").message.contains("redirect"), "{status}");
            assert_eq!(elsewhere.asked().len(), 0, "{status}");
        }
    }
}
