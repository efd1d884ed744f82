//! Headers of the settings, sent with every request.

use bytes::Bytes;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use rig_core::http_client::{self, HttpClientExt, LazyBody, MultipartForm, Request, Response, StreamingResponse};

use super::ProviderSetupError;
use crate::tool::Secret;

/// Reads headers. They replace those of the provider's own format, such as `authorization`.
pub(super) fn read(headers: &[(String, Secret)]) -> Result<HeaderMap, ProviderSetupError> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let wrong = || ProviderSetupError::Header { name: name.clone() };
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        let mut value = HeaderValue::from_str(value.reveal()).map_err(|_| wrong())?;
        value.set_sensitive(true);
        map.insert(key, value);
    }
    Ok(map)
}

/// A client that adds headers.
#[derive(Debug, Clone)]
pub(super) struct WithHeaders<C> {
    pub(super) client: C,
    pub(super) headers: HeaderMap,
}

impl<C> WithHeaders<C> {
    fn add<T>(&self, mut request: Request<T>) -> Request<T> {
        for (name, value) in &self.headers {
            request.headers_mut().insert(name.clone(), value.clone());
        }
        request
    }
}

impl<C: HttpClientExt> HttpClientExt for WithHeaders<C> {
    fn send<T, U>(
        &self,
        request: Request<T>,
    ) -> impl Future<Output = http_client::Result<Response<LazyBody<U>>>> + Send + 'static
    where
        T: Into<Bytes> + Send,
        U: From<Bytes> + Send + 'static,
    {
        self.client.send::<T, U>(self.add(request))
    }

    fn send_multipart<U>(
        &self,
        request: Request<MultipartForm>,
    ) -> impl Future<Output = http_client::Result<Response<LazyBody<U>>>> + Send + 'static
    where
        U: From<Bytes> + Send + 'static,
    {
        self.client.send_multipart::<U>(self.add(request))
    }

    fn send_streaming<T>(
        &self,
        request: Request<T>,
    ) -> impl Future<Output = http_client::Result<StreamingResponse>> + Send
    where
        T: Into<Bytes> + Send,
    {
        self.client.send_streaming(self.add(request))
    }
}
