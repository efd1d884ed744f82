//! The macro behind `kinds.rs`: one table generates the types, the strict writer and the lenient reader.

/// `Name "wire-type" { required } { optional }`, each field as `rust_name "wireName": Type`.
macro_rules! chunks {
    ($(
        $(#[$doc:meta])*
        $name:ident $tag:literal
            { $($req:ident $req_key:literal: $req_type:ty),* $(,)? }
            { $($opt:ident $opt_key:literal: $opt_type:ty),* $(,)? }
    )*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, PartialEq)]
            #[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
            #[allow(missing_docs, reason = "the fields are the SDK's own")]
            pub struct $name {
                $(#[cfg_attr(feature = "typescript", ts(rename = $req_key))] pub $req: $req_type,)*
                $(#[cfg_attr(feature = "typescript", ts(optional, rename = $opt_key))] pub $opt: Option<$opt_type>,)*
            }

            impl From<$name> for Chunk {
                fn from(chunk: $name) -> Self {
                    Chunk::$name(chunk)
                }
            }

            impl $name {
                fn read<'de, A: MapAccess<'de>>(map: &mut A) -> Result<(Self, Map<String, Value>), A::Error> {
                    $(let mut $req: Option<$req_type> = None;)*
                    $(let mut $opt: Option<$opt_type> = None;)*
                    let mut extra = Map::new();
                    while let Some(Text(key)) = map.next_key()? {
                        match &*key {
                            $($req_key => $req = Some(map.next_value()?),)*
                            $($opt_key => $opt = Some(map.next_value()?),)*
                            _ => drop(extra.insert(key.into_owned(), next_value(map)?)),
                        }
                    }
                    let chunk = Self {
                        $($req: $req.ok_or_else(|| A::Error::missing_field($req_key))?,)*
                        $($opt,)*
                    };
                    Ok((chunk, extra))
                }

                #[allow(unused_variables, reason = "some chunks have no fields")]
                fn diagnose(fields: &Map<String, Value>) -> Option<Fault> {
                    $(if let Some(fault) = Fault::in_required::<$req_type>(fields, $req_key) {
                        return Some(fault);
                    })*
                    $(if let Some(fault) = Fault::in_optional::<$opt_type>(fields, $opt_key) {
                        return Some(fault);
                    })*
                    None
                }
            }
        )*

        /// One chunk of the UI message stream, as Holdpoint writes it.
        #[derive(Debug, Clone, PartialEq)]
        #[allow(missing_docs, reason = "each variant's type says what it is")]
        pub enum Chunk {
            $($name($name),)*
            Data(Data),
        }

        impl Chunk {
            /// The wire types of all chunks except data parts.
            pub const KINDS: &[&str] = &[$($tag),*];

            /// The chunk's `type` (for a data part, without its name).
            pub fn kind(&self) -> &'static str {
                match self {
                    $(Chunk::$name(_) => $tag,)*
                    Chunk::Data(_) => "data-",
                }
            }

            /// Reads the rest of an object whose `type` has been read; `None` if the type is unknown.
            pub(super) fn read_fields<'de, A: MapAccess<'de>>(
                kind: &str,
                map: &mut A,
            ) -> Result<Option<(Self, Map<String, Value>)>, A::Error> {
                Ok(match kind {
                    $($tag => {
                        let (chunk, extra) = $name::read(map)?;
                        Some((Chunk::$name(chunk), extra))
                    })*
                    _ => match kind.strip_prefix("data-") {
                        Some(name) => {
                            let (data, extra) = Data::read(name, map)?;
                            Some((Chunk::Data(data), extra))
                        }
                        None => None,
                    },
                })
            }

            /// Appends the chunk's JSON. Same output as `Serialize`, but keys and types need no escaping.
            pub(crate) fn write(&self, out: &mut Vec<u8>) -> serde_json::Result<()> {
                match self {
                    $(Chunk::$name(_chunk) => {
                        out.extend_from_slice(concat!("{\"type\":\"", $tag, "\"").as_bytes());
                        $(out.extend_from_slice(concat!(",\"", $req_key, "\":").as_bytes());
                        serde_json::to_writer(&mut *out, &_chunk.$req)?;)*
                        $(if let Some(value) = &_chunk.$opt {
                            out.extend_from_slice(concat!(",\"", $opt_key, "\":").as_bytes());
                            serde_json::to_writer(&mut *out, value)?;
                        })*
                        out.push(b'}');
                        Ok(())
                    })*
                    Chunk::Data(_) => serde_json::to_writer(out, self),
                }
            }

            /// Explains why an object of this type could not be read.
            pub(super) fn diagnose(kind: &str, fields: &Map<String, Value>) -> Option<Fault> {
                match kind {
                    $($tag => $name::diagnose(fields),)*
                    _ if kind.starts_with("data-") => Data::diagnose(fields),
                    _ => None,
                }
            }

            /// The TypeScript declaration of every chunk type: wire type, name, body.
            #[cfg(feature = "typescript")]
            pub(crate) fn declarations(config: &ts_rs::Config) -> Vec<(&'static str, &'static str, String)> {
                use ts_rs::TS;
                vec![$(($tag, stringify!($name), $name::inline(config)),)*]
            }
        }

        impl Serialize for Chunk {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                // The length is only a hint in JSON, the protocol's only format.
                let mut out = serializer.serialize_struct("Chunk", 1)?;
                match self {
                    $(Chunk::$name(_chunk) => {
                        out.serialize_field("type", $tag)?;
                        $(out.serialize_field($req_key, &_chunk.$req)?;)*
                        $(if let Some(value) = &_chunk.$opt {
                            out.serialize_field($opt_key, value)?;
                        })*
                    })*
                    Chunk::Data(data) => data.write(&mut out)?,
                }
                out.end()
            }
        }
    };
}

pub(super) use chunks;
