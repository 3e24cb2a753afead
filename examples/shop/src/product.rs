//! What the shop sells, and the key under which an answer is cached.
//!
//! A cached answer must depend on nothing that its key does not hold. Whatever
//! changes the answer is therefore a field of [`ProductKey`]: forget the tenant
//! there and one customer sees the prices of another.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

/// The products that are bundles: their query walks [`BUNDLE_PARTS`] rows and is
/// slow. All other products are ordinary.
pub const BUNDLES: RangeInclusive<u32> = 1..=5;
/// The bundle that everybody asks for in the load experiment.
pub const HOT_BUNDLE: u32 = *BUNDLES.start();
/// The first ordinary product.
pub const FIRST_ORDINARY: u32 = *BUNDLES.end() + 1;
/// Parts of each bundle.
pub const BUNDLE_PARTS: u32 = 60;

/// Whose shop window it is. Tenants price differently and must never see each
/// other's answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tenant {
    /// Sells at list price.
    Acme,
    /// Sells 20 % above it.
    Globex,
    /// Sells 10 % below it.
    Initech,
}

impl Tenant {
    /// Every tenant.
    pub const ALL: [Self; 3] = [Self::Acme, Self::Globex, Self::Initech];

    /// The tenant's name in the database and in queries.
    pub fn name(self) -> &'static str {
        match self {
            Self::Acme => "acme",
            Self::Globex => "globex",
            Self::Initech => "initech",
        }
    }

    /// Price in percent of the list price.
    pub fn percent(self) -> u32 {
        match self {
            Self::Acme => 100,
            Self::Globex => 120,
            Self::Initech => 90,
        }
    }
}

/// The language of a product's name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Locale {
    /// British English.
    #[default]
    #[serde(rename = "en-GB")]
    English,
    /// German.
    #[serde(rename = "de-DE")]
    German,
    /// Japanese.
    #[serde(rename = "ja-JP")]
    Japanese,
}

impl Locale {
    /// Every locale.
    pub const ALL: [Self; 3] = [Self::English, Self::German, Self::Japanese];

    /// The locale's tag in the database and in queries.
    pub fn tag(self) -> &'static str {
        match self {
            Self::English => "en-GB",
            Self::German => "de-DE",
            Self::Japanese => "ja-JP",
        }
    }
}

/// What a customer has agreed to pay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PriceTier {
    /// The tenant's price.
    #[default]
    Standard,
    /// 5 % off.
    Silver,
    /// 10 % off.
    Gold,
}

impl PriceTier {
    /// Every tier.
    pub const ALL: [Self; 3] = [Self::Standard, Self::Silver, Self::Gold];

    /// Price in percent of the tenant's price.
    pub fn percent(self) -> u32 {
        match self {
            Self::Standard => 100,
            Self::Silver => 95,
            Self::Gold => 90,
        }
    }
}

/// Who looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Audience {
    /// Customers.
    #[default]
    Public,
    /// The tenant's staff, who also see what a product costs to buy.
    Staff,
}

impl Audience {
    /// Every audience.
    pub const ALL: [Self; 2] = [Self::Public, Self::Staff];
}

/// The cache key: everything that a product answer depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct ProductKey {
    /// Whose shop window.
    pub tenant: Tenant,
    /// Number of the product.
    pub id: u32,
    /// Language of its name.
    pub locale: Locale,
    /// What the customer pays.
    pub tier: PriceTier,
    /// Who looks.
    pub audience: Audience,
}

impl ProductKey {
    /// Every key under which product `id` can be cached: what a change of the
    /// product has to invalidate. The sets are closed, so there are 54 of them.
    pub fn variants(id: u32) -> impl Iterator<Item = Self> {
        Tenant::ALL.into_iter().flat_map(move |tenant| {
            Locale::ALL.into_iter().flat_map(move |locale| {
                PriceTier::ALL.into_iter().flat_map(move |tier| {
                    Audience::ALL.into_iter().map(move |audience| Self { tenant, id, locale, tier, audience })
                })
            })
        })
    }

    /// Whether the product is a bundle.
    pub fn is_bundle(self) -> bool {
        BUNDLES.contains(&self.id)
    }
}

/// A product as one tenant's customer or staff sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Product {
    /// Number of the product.
    pub id: u32,
    /// Whose price it is.
    pub tenant: Tenant,
    /// Name in the language asked for.
    pub name: String,
    /// Price in cents after the tenant's and the tier's percentages.
    pub price_cents: u64,
    /// What it costs to buy, in cents; staff only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_cents: Option<u64>,
    /// What a bundle holds; `None` for ordinary products.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<Parts>,
}

/// What a bundle holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parts {
    /// Number of different products.
    pub count: u32,
    /// List price of all of them together, in cents.
    pub list_cents: u64,
}

/// An order, as the endpoint that is not cached answers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Number of the order.
    pub id: u32,
    /// The product ordered.
    pub product_id: u32,
    /// How many of it.
    pub quantity: u32,
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// L8: a change reaches every variant of its product and no other product.
    #[test]
    fn l8_variants_are_distinct_and_complete() {
        let keys: HashSet<_> = ProductKey::variants(7).collect();
        assert_eq!(keys.len(), 3 * 3 * 3 * 2);
        assert!(keys.iter().all(|key| key.id == 7));
    }

    #[test]
    fn names_are_those_of_the_wire() {
        for tenant in Tenant::ALL {
            assert_eq!(serde_json::to_value(tenant).unwrap(), tenant.name());
        }
        for locale in Locale::ALL {
            assert_eq!(serde_json::to_value(locale).unwrap(), locale.tag());
        }
    }
}
