//! The browser tools `get_location`, `change_bgm` and `open-url`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use holdpoint_runtime::tool::{Returns, Tool, ToolBuilder, ToolContext};

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[derive(Deserialize, JsonSchema)]
struct Track {
    /// The number of the track.
    track: u32,
}

#[derive(Serialize)]
struct HandedOver {
    success: bool,
    track: u32,
    message: String,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[allow(dead_code, reason = "only its schema is used: the browser reads it")]
struct Address {
    /// The address, beginning with http: or https:.
    #[schemars(length(max = 2000), regex(pattern = r"^[Hh][Tt][Tt][Pp][Ss]?://[^\s/]\S*$"))]
    url: String,
    /// What to call the page.
    #[schemars(length(max = 200))]
    title: Option<String>,
    /// How many seconds the browser has for it.
    #[schemars(range(min = 1, max = 3600))]
    timeout_sec: Option<u32>,
}

pub(super) fn get_location() -> ToolBuilder {
    Tool::frontend::<Nothing>("get_location", "Tells where the user is: latitude, longitude and accuracy in metres.")
        .title("Current location")
        .approve_always()
}

pub(super) fn change_bgm() -> ToolBuilder {
    Tool::delegate::<Track>("change_bgm", "Changes the background music to the track with this number.")
        .title("Change the music")
        .handler(|Track { track }: Track, _: ToolContext| async move {
            Ok(HandedOver {
                success: true,
                track,
                message: format!("Track {track} was handed to the browser, which plays it"),
            })
        })
}

pub(super) fn open_url() -> ToolBuilder {
    Tool::frontend::<Address>("open-url", "Opens a web page in the user's browser.")
        .title("Open a web page")
        .returns(Returns::Ack)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::tests::Calls, *};

    #[tokio::test]
    async fn a_track_is_handed_over() {
        let chat = Calls::of(change_bgm());
        let output = chat.call(json!({"track": 1})).await.unwrap();
        assert_eq!((&output["success"], &output["track"]), (&json!(true), &json!(1)));
        assert!(output["message"].as_str().unwrap().contains("Track 1"));
        for input in [json!({}), json!({"track": "1"}), json!({"track": -1}), json!({"track": 1.5})] {
            assert!(chat.call(input).await.unwrap_err().0.starts_with("track: "));
        }
    }

    #[test]
    fn only_web_pages_are_opened() {
        let schema = open_url().build().unwrap().spec.input.clone();
        for input in [
            json!({"url": "https://example.com"}),
            json!({"url": "HTTP://localhost:3000/a?b=c#d", "title": "Mine", "timeoutSec": 3600}),
            json!({"url": "https://例え.jp/道", "timeoutSec": 1, "extra": true}),
        ] {
            assert_eq!(schema.check(&input), Ok(()), "{input}");
        }
        for (input, field) in [
            (json!({"url": "javascript:alert(1)"}), "url"),
            (json!({"url": "file:///etc/passwd"}), "url"),
            (json!({"url": "https://"}), "url"),
            (json!({"url": "https://a b"}), "url"),
            (json!({"url": " https://a.example"}), "url"),
            (json!({"title": "none"}), "url"),
            (json!({"url": "https://a.example", "timeoutSec": 0}), "timeoutSec"),
            (json!({"url": "https://a.example", "timeoutSec": 3601}), "timeoutSec"),
            (json!({"url": "https://a.example", "timeoutSec": 1.5}), "timeoutSec"),
        ] {
            let text = schema.check(&input).unwrap_err();
            assert!(text.starts_with(&format!("{field}: ")), "{text}");
        }
    }

    #[test]
    fn a_location_needs_no_input() {
        let spec = get_location().build().unwrap().spec;
        assert_eq!(spec.input.check(&json!({})), Ok(()));
        assert!(spec.input.check(&json!(null)).is_err());
        assert_eq!(spec.input.as_value()["type"], "object");
    }
}
