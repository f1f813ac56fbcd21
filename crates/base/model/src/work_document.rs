//! How work is written in documents: by its kind, as `{"stream": …}`; that of a server by the id
//! of the database, as `{"postgres": …}`.

use std::fmt::{self, Formatter};

use serde::de::value::{EnumAccessDeserializer, StringDeserializer};
use serde::de::{DeserializeSeed, EnumAccess, IntoDeserializer, VariantAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{ServerKind, Work};

impl Serialize for Work {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Work::Server(kind, reads) => {
                serializer.serialize_newtype_variant("Work", u32::MAX, kind.id(), reads)
            }
            // The derived function of the type, not of this trait.
            work => Work::serialize(work, serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Work {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_enum("Work", &[], WorkVisitor)
    }
}

struct WorkVisitor;

impl<'de> Visitor<'de> for WorkVisitor {
    type Value = Work;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("a kind of work")
    }

    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<Work, A::Error> {
        let (name, content) = access.variant::<String>()?;
        match ServerKind::find(&name) {
            Some(kind) => Ok(Work::Server(kind, content.newtype_variant()?)),
            None => Work::deserialize(EnumAccessDeserializer::new(Named { name, content })),
        }
    }
}

/// An enum whose name has been read.
struct Named<V> {
    name: String,
    content: V,
}

impl<'de, V: VariantAccess<'de>> EnumAccess<'de> for Named<V> {
    type Error = V::Error;
    type Variant = V;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, V), Self::Error> {
        let name: StringDeserializer<V::Error> = self.name.into_deserializer();
        Ok((seed.deserialize(name)?, self.content))
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        Allocation, Backing, ImportedWork, LoadPlan, LogicalReads, ServerKind, ServerReads,
        SgaPlan, Work,
    };

    #[test]
    fn the_work_of_a_server_is_under_the_id_of_its_database() {
        let work = Work::Server(
            ServerKind::named("postgres"),
            ServerReads {
                reads: LogicalReads {
                    sga: SgaPlan {
                        cache_bytes: 1 << 20,
                        backing: Backing::Shm,
                        page_bytes: 4096,
                        allocation: Allocation::OsDefault,
                    },
                    load: LoadPlan::default(),
                },
                prewarm_cpus: None,
                moved_to: None,
                cpu_quota: Some(2),
                settings: Default::default(),
            },
        );
        let document = serde_json::to_value(&work).unwrap();
        assert_eq!(document["postgres"]["cpu_quota"], 2);
        assert_eq!(document.as_object().unwrap().len(), 1);
        assert_eq!(serde_json::from_value::<Work>(document).unwrap(), work);
    }

    #[test]
    fn other_work_is_under_its_kind() {
        let work = Work::Imported(ImportedWork::default());
        let text = serde_json::to_string(&work).unwrap();
        assert_eq!(text, r#"{"imported":{"files":[]}}"#);
        assert_eq!(serde_json::from_str::<Work>(&text).unwrap(), work);
        let unknown = serde_json::from_str::<Work>(r#"{"bake":1}"#).unwrap_err();
        let message = unknown.to_string();
        assert!(message.starts_with("unknown variant `bake`, expected one of `logical-reads`"));
    }
}
