package workload

import "strings"

// wordBits is how many bits choose a word.
const wordBits = 10

// words are 1,024 frequent English words of at most eight letters. Each is exactly one token, at the start of a text and
// after a space, in GPT-2's r50k_base, cl100k_base, o200k_base and the vocabularies of Llama 2, Llama 3 and Mistral 7B
// (32,000 pieces), as counted by gpt-tokenizer 4.0.0, llama-tokenizer-js 1.2.2, llama3-tokenizer-js 1.2.0 and
// mistral-tokenizer-js 1.0.0: 10,000 random ones in a row were 10,000 tokens in all six.
var words = strings.Fields(`
ability able about above accept access account acted acting action active activity acts actually add added address
adjust affected again against age ago agree ahead aid air album all allowed allows almost along also alter always
amount analysis angle animal another answered any anything apply approved are area arm around art articles artist ask
asks assembly assuming author authors average aware away back balance ball band bar bars base based bear bearing
because been before begin below best bet between bid big binary bind binding bits blank block board boat body book
boot both bottom box boxes brand breaking bridge bright bringing broken brown buffer bug bugs building built bus but
button buy byte call called calling can capacity capital card cards care case cases cat category cause cell central
chain chair changed changes changing channel char charge charged check checked checking chemical child children choice
circle city claimed class classes clear clock close club code codes cold college column come coming command comment
common company complete computer concept connect contact content context contract control copy correct cost could
count country course court covered create created credit critical cross culture cup current cycle cycles daily data
database date dates day days deal default define defined delay delete depend derived design detail develop device
devices digit digital direct dirty disk display division document does dog domain done door double down draw drive
driver drivers dry due dump each early earth easy eat economic edit edited edition editor effects eight either
electric element else enable end ended ends enter entity equal error errors even event events every everyone example
execute exist existing expected external extra eye face fact factor fail failed fair falls false family far farm fast
feature features fed feel fell felt few fields figure file fill filled film find finding fine finished fire first fit
fits five fixed flag flash flight float floor flow folk follow food for force forced forcing foreign form formed
former forming forth fortune forward four frame free friend friendly friends from full fully fun fund future gain
games gap gas get gets getting given glass global gone good got graph grave great green grounds group groups grown
growth guard had hair half hand handle handled hang happy hard hat have having header heading heads health heart heat
heavy help her here hid hidden hide higher highest hill his history hold hole holes home hospital host hot hour house
how human ignore image images include includes income info initial inner insert inside install instead integer
interest into issue issued issues items its job join joined joining jump just keep key keys kid king know known land
lands language last late later latest laws lay layout leader leading leaf learning leave led leg legal length let lets
letter level levels library lies life lift light like likely limit limits line linear link linked links listed lists
little living load loaded loads local location locked log long look loop loss lost love low lower lying machine made
mail main major makes making managed many map mark market marks mass match material matter maximum maybe mean meaning
medical medium meet members memory mere message met metal middle might mile mind mine minimum miss missing mix mode
models modern modified monitor month months most mostly mother mouth move movie much multiple music name named names
national natural nature near need needed needs net network never news next nice nine none nor north not note nothing
notice noticed number object objects occupied off offer office often oil old once one ones onto open opened opens
operator option options order ordered orders ordinary origin original ought our out output outside over owner pack
package page pages paid paper papers parent part partial parts pass past patch path pattern pause pay peak people per
perhaps period person phase phone phrase pick picked picture pieces pipe place places plain plan plane plant play
played plays pleasant please plug plus point policy poll pool popular port position possibly post posted power powers
practice present pressed pressure pretty primary prime print prints private probably process product products progress
project projects property protect provided pull pure purpose push quality quarter question quick quiet quit quote
radio rain raised raising ran range rate rates raw reach react reader reading reads ready really reason received
record red reflect register regular related relative release released remote remove repair replace reply report
reports request require required research resident resource respond response rest results return reverse rid ride
right ring rise risk road role roll rooms root rough round row rule rules running runs safe sale same sample save
saving say scan scene school score screen script season second seconds section sections secure security seeing seek
seen selected self sell sense sent sequence series server service session set sets seven shall shape shared sharing
sharp she shell shift ship short should show shows side sign similar simple since sit site sites size skill sleep
small social soft software solid some someone soon sorry sort source south space specific speech speed split spoken
spot spring square stable stage stand standard standing started starting state station status stay stick still stock
stones stood stop store stores story stream street strength strings strong student study style subject submit such
suggest sum sun support sure switch system table taking talk tank task tax team ten term terms test testing tests text
thank thanks that their them then these they thin things think thinking this those though three through throw thus tie
tight time title today token top topic total town trace track train trained training trap travel tree trip true trust
truth turn turned two types under unique units unknown unless update updated upon usage use used users uses using
usually valid value values vector version versions via vice video views visible vision volume wait walk wall want warm
warning was watch way ways wear weather weight well went west western what wheel when where which while who why wide
wild win wind window winter wire wise with without won word work worked worker working works world worthy would write
writing written wrong years yellow yes you young your
`)
