//! Logins at servers that are protected by OAuth 2.1: discovery, registration, authorization code with PKCE, refresh.

use std::{io, path::PathBuf, time::Duration};

use rmcp::transport::auth::{AuthError, AuthorizationManager, AuthorizationRequest, AuthorizationSession};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use super::{McpProblem, McpSettings, McpTransport, SecretUrl, token_file::TokenFile};
use crate::{Secret, text::plain};

/// The longest request of a browser that comes back.
const MAX_REQUEST_BYTES: usize = 16 * 1024;
/// How long a browser that comes back has for its request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// How a server is logged in to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpOAuth {
    /// The file with the tokens. It is made by a login.
    pub file: PathBuf,
    /// The key that the file is encrypted with.
    pub key: Secret,
    /// The id of a client that was registered beforehand. Without it, one is registered by the login.
    pub client_id: Option<String>,
}

/// Why a login failed.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
#[non_exhaustive]
pub enum McpLoginError {
    #[error("the server has no `oauth_file`, so a login cannot be stored")]
    NotSet,
    #[error("its URL can't be used")]
    Url,
    #[error("no local address for the browser to come back to: {0}")]
    Listen(io::Error),
    #[error("nobody came back from the browser within {} s", .0.as_secs())]
    Slow(Duration),
    #[error("the login was refused: {0}")]
    Refused(String),
    #[error("the login failed: {0}")]
    OAuth(String),
}

/// A login that waits for a person.
pub struct McpLogin {
    session: AuthorizationSession,
    listener: TcpListener,
    address: String,
}

impl McpLogin {
    /// Finds out how the server wants to be logged in to, and prepares the login. The browser comes back to this port of this
    /// machine; 0 is any.
    pub async fn begin(settings: &McpSettings, port: u16) -> Result<Self, McpLoginError> {
        let (Some(oauth), McpTransport::Http { url, .. }) = (&settings.oauth, &settings.transport) else {
            return Err(McpLoginError::NotSet);
        };
        let failed = |error: AuthError| McpLoginError::OAuth(words(url, &error));
        let listener = TcpListener::bind(("127.0.0.1", port)).await.map_err(McpLoginError::Listen)?;
        let address = format!("http://{}", listener.local_addr().map_err(McpLoginError::Listen)?);
        let mut manager = manager(url, oauth).await.map_err(failed)?;
        let found = manager.resolve_metadata().await.map_err(failed)?;
        manager.set_metadata(found.metadata);
        let mut request = AuthorizationRequest::new(format!("{address}/callback"))
            .with_client_name("Holdpoint")
            .with_initial_scope_selection();
        if let Some(id) = &oauth.client_id {
            request = request.with_preregistered_client(id);
        }
        let session = AuthorizationSession::new(manager, request).await.map_err(|(_, error)| failed(error))?;
        Ok(Self { session, listener, address })
    }

    /// The page that the person has to open.
    pub fn url(&self) -> &str {
        self.session.get_authorization_url()
    }

    /// Waits until the person has come back, and stores the tokens.
    pub async fn finish(self, timeout: Duration) -> Result<(), McpLoginError> {
        match tokio::time::timeout(timeout, self.wait()).await {
            Ok(finished) => finished,
            Err(_) => Err(McpLoginError::Slow(timeout)),
        }
    }

    async fn wait(self) -> Result<(), McpLoginError> {
        loop {
            let (mut stream, _) = self.listener.accept().await.map_err(McpLoginError::Listen)?;
            let target = tokio::time::timeout(REQUEST_TIMEOUT, target(&mut stream)).await;
            let Ok(Some(target)) = target else { continue };
            if !target.starts_with("/callback?") {
                // A browser also asks for an icon.
                answer(&mut stream, "404 Not Found", "There is nothing here.").await;
                continue;
            }
            let url = format!("{}{target}", self.address);
            if let Some(refusal) = refusal(&url) {
                answer(&mut stream, "200 OK", "The login was refused. You can close this page.").await;
                return Err(McpLoginError::Refused(refusal));
            }
            return match self.session.handle_callback_url(&url).await {
                Ok(_) => {
                    answer(&mut stream, "200 OK", "Holdpoint is logged in. You can close this page.").await;
                    Ok(())
                }
                Err(error) => {
                    answer(&mut stream, "400 Bad Request", "The login failed. You can close this page.").await;
                    Err(McpLoginError::OAuth(plain(&error.to_string(), 300)))
                }
            };
        }
    }
}

/// A manager with the tokens of earlier logins.
pub(super) async fn authorized(url: &SecretUrl, oauth: &McpOAuth) -> Result<AuthorizationManager, McpProblem> {
    let failed = |error: AuthError| McpProblem::Refused(words(url, &error));
    if !oauth.file.exists() {
        return Err(McpProblem::Login);
    }
    let mut manager = manager(url, oauth).await.map_err(failed)?;
    match manager.initialize_from_store().await.map_err(failed)? {
        true => Ok(manager),
        false => Err(McpProblem::Login),
    }
}

async fn manager(url: &SecretUrl, oauth: &McpOAuth) -> Result<AuthorizationManager, AuthError> {
    let mut manager = AuthorizationManager::new(url.reveal()).await?;
    manager.set_credential_store(TokenFile::new(&oauth.file, &oauth.key));
    Ok(manager)
}

fn words(url: &SecretUrl, error: &AuthError) -> String {
    plain(&url.mask(holdpoint_core::redact::Mask::default()).hide(&error.to_string()), 300)
}

/// The target of a request.
async fn target(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    while !bytes.windows(4).any(|four| four == b"\r\n\r\n") {
        if bytes.len() > MAX_REQUEST_BYTES || stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let head = String::from_utf8(bytes).ok()?;
    let mut words = head.lines().next()?.split(' ');
    (words.next()? == "GET").then_some(())?;
    words.next().map(str::to_owned)
}

async fn answer(stream: &mut TcpStream, status: &str, text: &str) {
    let length = text.len();
    let head =
        format!("HTTP/1.1 {status}\r\ncontent-type: text/plain\r\ncontent-length: {length}\r\nconnection: close\r\n");
    let _ = stream.write_all(format!("{head}\r\n{text}").as_bytes()).await;
    let _ = stream.shutdown().await;
}

/// What the authorization server says if it refuses.
fn refusal(url: &str) -> Option<String> {
    let url = reqwest::Url::parse(url).ok()?;
    let field = |name: &str| url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
    let error = field("error")?;
    let text = field("error_description").map_or(error.clone(), |text| format!("{error}: {text}"));
    Some(plain(&text, 300))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_told_in_its_own_words() {
        let url = "http://127.0.0.1:1/callback?error=access_denied&error_description=not+you&state=x";
        assert_eq!(refusal(url).as_deref(), Some("access_denied: not you"));
        assert_eq!(refusal("http://127.0.0.1:1/callback?code=1&state=x"), None);
    }
}
