//! Files that a call produces besides its output: pictures, sound, documents. They are stored with the call, in the log,
//! and the output has a link in their place.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};

/// A file of a call, as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredFile {
    /// Its media type, such as `image/png`. It is what the tool said.
    pub media_type: String,
    /// Its bytes, in base64.
    pub data: String,
}

impl StoredFile {
    /// Its bytes. `None` if they can't be read.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        STANDARD.decode(&self.data).ok()
    }
}
