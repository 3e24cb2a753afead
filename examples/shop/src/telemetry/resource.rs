//! Who sends: the name of the service and the one process of it that this is.

use opentelemetry::{Key, KeyValue};
use opentelemetry_sdk::Resource;

const NAME: &str = "service.name";
const INSTANCE: &str = "service.instance.id";

/// This process, as `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` say; what they leave out is filled in.
pub(super) fn of_this_process() -> Resource {
    let said = Resource::builder().build();
    let mut builder = Resource::builder();
    // The SDK's own word for a service that nobody has named.
    if said.get(&Key::new(NAME)).is_none_or(|name| name.as_str().starts_with("unknown_service")) {
        builder = builder.with_service_name("shop");
    }
    // Two processes that push without an id of their own would write into each other's series.
    if said.get(&Key::new(INSTANCE)).is_none() {
        let id = format!("{}-{:08x}", std::process::id(), fastrand::u32(..));
        builder = builder.with_attribute(KeyValue::new(INSTANCE, id));
    }
    builder.build()
}
