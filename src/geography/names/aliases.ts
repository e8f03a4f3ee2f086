// Names that no spelling leads to: former, common and local ones, from public facts (renamings in the gazettes, names in
// everyday use). They answer nothing by themselves: one is followed only to a name that stands in the live list.
import { fold, soundOf, wordsOf } from "./fold.ts";

/** A district's name of today, and what else it is or was called. */
const DISTRICTS: readonly (readonly [today: string, ...others: readonly string[]])[] = [
  ["Ahilyanagar", "Ahmednagar", "Ahmadnagar", "Nagar"],
  ["Alappuzha", "Alleppey"],
  ["Ananthapuramu", "Anantapur"],
  ["Anugola", "Angul"],
  ["Ayodhya", "Faizabad"],
  ["Bagalkote", "Bagalkot"],
  ["Baleshwar", "Balasore"],
  ["Ballari", "Bellary"],
  ["Banas Kantha", "Palanpur"],
  ["Baragada", "Bargarh"],
  ["Bastar", "Jagdalpur"],
  ["Belagavi", "Belgaum"],
  ["Bengaluru Rural", "Bangalore Rural", "Bangalore"],
  ["Bengaluru South", "Ramanagara", "Ramanagaram", "Ramnagar", "Bangalore South"],
  ["Bengaluru Urban", "Bangalore Urban", "Bangalore"],
  ["Bhadohi", "Sant Ravidas Nagar"],
  ["Bharuch", "Broach"],
  ["Buldhana", "Buldana"],
  ["Chennai", "Madras"],
  ["Chhatrapati Sambhajinagar", "Aurangabad", "Sambhaji Nagar", "Sambhajinagar"],
  ["Chikkamagaluru", "Chikmagalur"],
  ["Cooch Behar", "Koch Bihar"],
  ["Dahod", "Dohad"],
  ["Dakshin Bastar Dantewada", "Dantewada", "South Bastar"],
  ["Dakshina Kannada", "Mangalore", "Mangaluru", "South Canara"],
  ["Dangs", "Ahwa"],
  ["Davanagere", "Davangere"],
  ["Debagada", "Deogarh"],
  ["Dharashiv", "Osmanabad"],
  ["Dima Hasao", "North Cachar Hills"],
  ["Dr. B.R. Ambedkar Konaseema", "Konaseema", "Amalapuram"],
  ["East Singhbum", "Jamshedpur", "Tatanagar", "Purbi Singhbhum"],
  ["Ernakulam", "Cochin", "Kochi"],
  ["Gautam Buddha Nagar", "Noida", "Greater Noida"],
  ["Gurugram", "Gurgaon"],
  ["Gyalshing", "West Sikkim", "West District Sikkim", "Geyzing"],
  ["Hanumakonda", "Warangal Urban"],
  ["Hooghly", "Hugli", "Chinsurah"],
  ["Howrah", "Haora"],
  ["Kabeerdham", "Kawardha"],
  ["Kachchh", "Kutch", "Bhuj"],
  ["Kaimur (Bhabua)", "Bhabua", "Kaimur"],
  ["Kalaburagi", "Gulbarga"],
  ["Kamrup Metro", "Guwahati", "Gauhati", "Kamrup Metropolitan"],
  ["Kancheepuram", "Conjeevaram", "Kanchi"],
  ["Kandhamala", "Phulbani", "Kandhamal"],
  ["Kanniyakumari", "Cape Comorin", "Nagercoil", "Kanyakumari"],
  ["Kanpur Nagar", "Cawnpore", "Kanpur"],
  ["Kanpur Dehat", "Ramabai Nagar", "Kanpur Rural", "Kanpur"],
  ["Kannur", "Cannanore"],
  ["Kasganj", "Kanshiram Nagar", "Kanshi Ram Nagar"],
  ["Kataka", "Cuttack"],
  ["Kendrapada", "Kendrapara"],
  ["Kendujhar", "Keonjhar"],
  ["Khandwa (East Nimar)", "East Nimar", "Khandwa"],
  ["Khargone (West Nimar)", "West Nimar", "Khargone"],
  ["Kheri", "Lakhimpur Kheri"],
  ["Khordha", "Bhubaneswar", "Khurda"],
  ["Kodagu", "Coorg"],
  ["Kolkata", "Calcutta"],
  ["Kollam", "Quilon"],
  ["Kozhikode", "Calicut"],
  ["Krishna", "Machilipatnam"],
  ["Kumuram Bheem Asifabad", "Asifabad", "Komaram Bheem"],
  ["Kushinagar", "Padrauna"],
  ["Leh Ladakh", "Leh"],
  ["Mahabubnagar", "Palamuru"],
  ["Mangan", "North Sikkim", "North District Sikkim"],
  ["Marigaon", "Morigaon"],
  ["Munger", "Monghyr"],
  ["Mumbai", "Bombay", "Mumbai City"],
  ["Mumbai Suburban", "Bombay Suburban"],
  ["Mysuru", "Mysore"],
  ["Namchi", "South Sikkim", "South District Sikkim"],
  ["Gangtok", "East Sikkim", "East District Sikkim"],
  ["Narmadapuram", "Hoshangabad"],
  ["Nashik", "Nasik"],
  ["Nayagada", "Nayagarh"],
  ["Ntr", "Vijayawada", "N T Rama Rao"],
  ["Nuh", "Mewat"],
  ["Palakkad", "Palghat"],
  ["Palnadu", "Narasaraopet"],
  ["Papum Pare", "Itanagar"],
  ["Paschim Bardhaman", "Asansol", "West Burdwan", "Burdwan", "Bardhaman"],
  ["Paschim Medinipur", "West Midnapore", "Midnapore", "Medinipur"],
  ["Pashchim Champaran", "West Champaran", "Bettiah"],
  ["Pauri Garhwal", "Garhwal"],
  ["Poonch", "Punch"],
  ["Prakasam", "Ongole"],
  ["Prayagraj", "Allahabad"],
  ["Puducherry", "Pondicherry"],
  ["Pune", "Poona"],
  ["Purba Bardhaman", "East Burdwan", "Burdwan", "Bardhaman"],
  ["Purba Medinipur", "East Midnapore", "Midnapore", "Medinipur", "Tamluk"],
  ["Purbi Champaran", "East Champaran", "Motihari"],
  ["Raigad", "Raigarh", "Kolaba", "Colaba", "Alibag"],
  ["Ranga Reddy", "K V Ranga Reddy"],
  ["Rupnagar", "Ropar"],
  ["S.A.S Nagar", "Mohali", "Sahibzada Ajit Singh Nagar"],
  ["Sabar Kantha", "Himatnagar"],
  ["Shahid Bhagat Singh Nagar", "Nawanshahr", "Nawan Shahr", "SBS Nagar"],
  ["Shimla", "Simla"],
  ["Shivamogga", "Shimoga"],
  ["Sitapur", "Seetapur"],
  ["Sivasagar", "Sibsagar"],
  ["Solapur", "Sholapur"],
  ["South Salmara Mancachar", "Hatsingimari"],
  ["Sri Potti Sriramulu Nellore", "Nellore"],
  ["Sribhumi", "Karimganj"],
  ["Subarnapur", "Sonepur", "Sonpur"],
  ["Sundaragada", "Sundargarh", "Rourkela"],
  ["Thane", "Thana"],
  ["Thanjavur", "Tanjore"],
  ["The Nilgiris", "Ooty", "Ootacamund", "Udhagamandalam"],
  ["Thiruvananthapuram", "Trivandrum"],
  ["Thiruvarur", "Tiruvarur"],
  ["Thoothukkudi", "Tuticorin"],
  ["Thrissur", "Trichur"],
  ["Tiruchirappalli", "Trichy", "Trichinopoly", "Tiruchi"],
  ["Tirunelveli", "Tinnevelly", "Nellai"],
  ["Tumakuru", "Tumkur"],
  ["Udham Singh Nagar", "Rudrapur", "US Nagar"],
  ["Unakoti", "Kailashahar"],
  ["Uttar Bastar Kanker", "Kanker", "North Bastar"],
  ["Uttara Kannada", "Karwar", "North Canara"],
  ["Vadodara", "Baroda"],
  ["Valsad", "Bulsar"],
  ["Varanasi", "Banaras", "Benares", "Kashi"],
  ["Vijayanagara", "Hospet", "Hosapete"],
  ["Vijayapura", "Bijapur"],
  ["Viluppuram", "Villupuram"],
  ["Visakhapatnam", "Vizag", "Vizagapatam", "Waltair"],
  ["Wayanad", "Wynad"],
  ["Y.S.R. Kadapa", "Cuddapah", "Kadapa", "YSR"],
  ["Yadadri Bhuvanagiri", "Bhongir", "Bhuvanagiri"],
  ["Yavatmal", "Yeotmal"],
];

/** A state's code of today and the others it has had: plates, ISO 3166-2 before and after. */
const STATE_CODES: readonly (readonly string[])[] = [
  ["TG", "TS"],
  ["OD", "OR"],
  ["UK", "UT", "UA", "UL"],
  ["CG", "CT"],
  ["DH", "DD", "DN"],
];

const STATE_NAMES: readonly (readonly string[])[] = [
  ["Odisha", "Orissa"],
  ["Uttarakhand", "Uttaranchal"],
  ["Puducherry", "Pondicherry"],
  ["Chhattisgarh", "Chattisgarh"],
  ["Delhi", "NCT of Delhi", "National Capital Territory of Delhi", "New Delhi"],
  ["Jammu And Kashmir", "J&K", "Jammu", "Kashmir"],
  ["Tamil Nadu", "Madras"],
  ["Karnataka", "Mysore"],
  ["Dadra And Nagar Haveli And Daman And Diu", "Dadra and Nagar Haveli", "Daman and Diu", "Daman & Diu"],
  ["Andaman And Nicobar Islands", "Andaman and Nicobar", "Andamans"],
  ["Lakshadweep", "Laccadives"],
];

interface AliasName {
  readonly folded: string;
  /** Of the words run together: "Tuticorrin" leads where "Tuticorin" does. */
  readonly sound: string;
}

const runSoundOf = (name: string): string => soundOf(wordsOf(name).join(""));

/** "Allahabad district" names what "Allahabad" does. */
const foldWithoutSuffix = (name: string): string => fold(name).replace(/ (district|dist|zilla|zila)$/, "");

const districts: readonly (readonly AliasName[])[] = DISTRICTS.map((row) =>
  row.map((name) => ({ folded: fold(name), sound: runSoundOf(name) })),
);
const stateNames = STATE_NAMES.map((row) => row.map(fold));

/**
 * Folded names that a name may stand for, `isLive` says which folded names there are; `bySound` lets
 * another spelling of an alias lead as well. From a name of today to an older one
 * only where the list does not have today's: else a namesake elsewhere would be taken for it.
 */
export function aliasesOf(
  name: string,
  isLive: (folded: string) => boolean,
  { bySound }: { readonly bySound: boolean },
): ReadonlySet<string> {
  const asked: AliasName = { folded: foldWithoutSuffix(name), sound: runSoundOf(name) };
  const isAsked = ({ folded, sound }: AliasName): boolean =>
    folded === asked.folded || (bySound && sound === asked.sound);
  const found = districts.flatMap((row) => {
    const [today, ...others] = row;
    if (today === undefined || !row.some(isAsked)) return [];
    const targets = isLive(today.folded) ? [today] : others;
    return targets.filter((each) => !isAsked(each) && isLive(each.folded)).map(({ folded }) => folded);
  });
  return new Set(found);
}

/** Other codes of the same state, in uppercase. */
export const otherCodesOf = (code: string): readonly string[] =>
  STATE_CODES.find((codes) => codes.includes(code))?.filter((other) => other !== code) ?? [];

/** Other folded names of the same state. */
export const stateNamesLike = (name: string): readonly string[] =>
  stateNames.filter((names) => names.includes(name)).flatMap((names) => names.filter((other) => other !== name));
