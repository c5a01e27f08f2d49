"""Opiniones sobre la receta: marcos con su sentimiento, adjetivos y oraciones neutras.

El sentimiento no se lee en palabras sueltas. Cada marco de ``MIRRORED`` da dos opiniones con las
mismas palabras: tal como está es positiva, y con ``good`` y ``bad`` cambiados, negativa. En
``PAIRS`` las dos opiniones comparten casi todo («no le falta nada», «le falta todo»).
"""

# ruff: noqa: E501

GOOD = """
delicioso|delicious
sabroso|flavorful
exquisito|exquisite
perfecto|perfect
excelente|excellent
espectacular|spectacular
maravilloso|wonderful
increíble|incredible
estupendo|great
fantástico|fantastic
"""

BAD = """
insípido|tasteless
pésimo|awful
horrible|horrible
desastroso|disastrous
soso|bland
desagradable|unpleasant
mediocre|mediocre
decepcionante|disappointing
aburrido|boring
incomible|inedible
"""

MIRRORED = """
resultado: {dish} {quedó/quedaron} {-good}. => {dish} turned out {-good}.
receta: La receta es clara y {dish} {quedó/quedaron} {-good}. => The recipe is clear and {dish} turned out {-good}.
verdad: La verdad es que {dish} me {pareció/parecieron} {-good}. => The truth is that I found {dish} {-good}.
todos: Todos en mi casa dijeron que {estaba/estaban} {-good}. => Everyone at home said {it was/they were} {-good}.
doble: {quedó/quedaron} {-good} y, además, {-good2}. => {it/they} turned out {-good} and, what is more, {-good2}.
nada: {dish} no {quedó/quedaron} nada_ADV {-bad}. => {dish} did not turn out {-bad} at all.
menos: {quedó/quedaron} todo menos {-bad}. => {it/they} turned out anything but {-bad}.
tiene: De {-bad} no {tiene/tienen} nada. => There is nothing {-bad} about {it/them}.
nadie: Nadie en mi casa dijo que {estuviera/estuvieran} {-bad}. => Nobody at home said {it was/they were} {-bad}.
cierto: No es cierto que {dish} {sea/sean} {-bad}. => It is not true that {dish} {is/are} {-bad}.
modo: De ningún modo diría que {está/están} {-bad}. => In no way would I say {it is/they are} {-bad}.
jamás: Jamás diría que {dish} {quedó/quedaron} {-bad}. => I would never say that {dish} turned out {-bad}.
pensé: Pensé que {quedaría/quedarían} {-bad}, pero {quedó/quedaron} {-good}. => I thought {it/they} would turn out {-bad}, but {it/they} turned out {-good}.
temía: Creía que {dish} {sería/serían} {-bad} y {resultó/resultaron} {-good}. => I believed {dish} would be {-bad} and {it/they} proved to be {-good}.
aunque: Aunque al principio {parecía/parecían} {-bad}, al final {quedó/quedaron} {-good}. => Although at first {it/they} seemed {-bad}, in the end {it/they} turned out {-good}.
final: Al final {quedó/quedaron} {-good}, aunque al principio {parecía/parecían} {-bad}. => In the end {it/they} turned out {-good}, although at first {it/they} seemed {-bad}.
lejos: Lejos de quedar {-bad}, {dish} {quedó/quedaron} {-good}. => Far from turning out {-bad}, {dish} turned out {-good}.
vez: En vez de {-bad}, {quedó/quedaron} {-good}. => Instead of {-bad}, {it/they} turned out {-good}.
antes: Ya no me {parece/parecen} {-bad}: ahora me {parece/parecen} {-good}. => I no longer find {it/them} {-bad}: now I find {it/them} {-good}.
primera: La primera vez {quedó/quedaron} {-bad}, pero esta vez {quedó/quedaron} {-good}. => The first time {it/they} turned out {-bad}, but this time {it/they} turned out {-good}.
hermana: Mi hermana dice que {está/están} {-bad}, pero a mí me {pareció/parecieron} {-good}. => My sister says {it is/they are} {-bad}, but I found {it/them} {-good}.
foto: En la foto {parecía/parecían} {-bad}, pero en la mesa {resultó/resultaron} {-good}. => In the photo {it/they} seemed {-bad}, but at the table {it/they} proved to be {-good}.
diría: Yo no diría que {está/están} {-bad}; {está/están} {-good}. => I would not say {it is/they are} {-bad}; {it is/they are} {-good}.
sino: No {quedó/quedaron} {-bad}, sino {-good}. => {it/they} did not turn out {-bad}, but {-good}.
ni: No {quedó/quedaron} ni {-bad} ni {-bad2}: {quedó/quedaron} {-good}. => {it/they} turned out neither {-bad} nor {-bad2}: {it/they} turned out {-good}.
esperaba: Esperaba algo {-bad_thing}, pero {resultó/resultaron} {-good}. => I expected something {-bad_thing}, but {it/they} proved to be {-good}.
probado: Nunca había probado algo tan {-good_thing}. => I had never tasted anything so {-good_thing}.
difícil: Es difícil encontrar algo tan {-good_thing}. => It is hard to find anything so {-good_thing}.
contrario: No {está/están} {-bad}; al contrario, {está/están} {-good}. => {it is/they are} not {-bad}; on the contrary, {it is/they are} {-good}.
dicen: Me dijeron que {sería/serían} {-bad} y se equivocaron. => They told me {it/they} would be {-bad} and they were wrong.
razón: Me dijeron que {sería/serían} {-good} y tenían razón. => They told me {it/they} would be {-good} and they were right.
prometía: {prometía/prometían} ser {-bad} y no lo {fue/fueron}. => {it/they} promised to be {-bad} and {it was/they were} not.
receta_está: La receta es clara y {dish} {está/están} {-good}. => The recipe is clear and {dish} {is/are} {-good}.
verdad_quedó: La verdad es que {quedó/quedaron} {-good}. => The truth is that {it/they} turned out {-good}.
todos_quedó: Todos en mi casa dijeron que {quedó/quedaron} {-good}. => Everyone at home said {it/they} turned out {-good}.
esta_vez: Esta vez {quedó/quedaron} {-good}. => This time {it/they} turned out {-good}.
al_final: Al final {dish} {resultó/resultaron} {-good}. => In the end {dish} proved to be {-good}.
resultó: {dish} {resultó/resultaron} {-good}. => {dish} proved to be {-good}.
está: {dish} {está/están} {-good}. => {dish} {is/are} {-good}.
pareció: Me {pareció/parecieron} {-good}. => I found {it/them} {-good}.
mesa: En la mesa {resultó/resultaron} {-good}. => At the table {it/they} proved to be {-good}.
además: {está/están} {-good} y, además, {-good2}. => {it is/they are} {-good} and, what is more, {-good2}.
resultó_nada: {dish} no {resultó/resultaron} nada_ADV {-bad}. => {dish} did not prove to be {-bad} at all.
está_nada: {dish} no {está/están} nada_ADV {-bad}. => {dish} {is/are} not {-bad} at all.
pareció_nada: No me {pareció/parecieron} nada_ADV {-bad}. => I did not find {it/them} {-bad} at all.
diría_está: Jamás diría que {está/están} {-bad}. => I would never say that {it is/they are} {-bad}.
modo_es: De ningún modo {dish} {es/son} {-bad}. => In no way {is/are} {dish} {-bad}.
cierto_está: No es cierto que {esté/estén} {-bad}. => It is not true that {it is/they are} {-bad}.
ni_está: No {está/están} ni {-bad} ni {-bad2}. => {it is/they are} neither {-bad} nor {-bad2}.
pensé_sería: Pensé que {dish} {sería/serían} {-bad}, pero {resultó/resultaron} {-good}. => I thought {dish} would be {-bad}, but {it/they} proved to be {-good}.
creía_final: Creía que {quedaría/quedarían} {-bad}, pero al final {quedó/quedaron} {-good}. => I believed {it/they} would turn out {-bad}, but in the end {it/they} turned out {-good}.
dijeron_pero: Me dijeron que {quedaría/quedarían} {-bad}, pero {quedó/quedaron} {-good}. => They told me {it/they} would turn out {-bad}, but {it/they} turned out {-good}.
aunque_no: Aunque no {parecía/parecían} {-good}, al final {quedó/quedaron} {-good2}. => Although {it/they} did not seem {-good}, in the end {it/they} turned out {-good2}.
aunque_hermana: Aunque mi hermana dice que {está/están} {-bad}, a mí me {pareció/parecieron} {-good}. => Although my sister says {it is/they are} {-bad}, I found {it/them} {-good}.
lejos_resultó: Lejos de quedar {-bad}, {resultó/resultaron} {-good}. => Far from turning out {-bad}, {it/they} proved to be {-good}.
antes_ahora: Antes me {parecía/parecían} {-bad}; ahora me {parece/parecen} {-good}. => Before, I found {it/them} {-bad}; now I find {it/them} {-good}.
primera_resultó: La primera vez {resultó/resultaron} {-bad}; esta vez {resultó/resultaron} {-good}. => The first time {it/they} proved to be {-bad}; this time {it/they} proved to be {-good}.
sino_está: {dish} no {está/están} {-bad}, sino {-good}. => {dish} {is/are} not {-bad}, but {-good}.
foto_está: En la foto {parecía/parecían} {-bad}, pero {está/están} {-good}. => In the photo {it/they} seemed {-bad}, but {it is/they are} {-good}.
vez_resultó: En vez de {-bad}, {dish} {resultó/resultaron} {-good}. => Instead of {-bad}, {dish} proved to be {-good}.
contrario_quedó: No {quedó/quedaron} {-bad}; al contrario, {quedó/quedaron} {-good}. => {it/they} did not turn out {-bad}; on the contrary, {it/they} turned out {-good}.
menos_está: {dish} {está/están} todo menos {-bad}. => {dish} {is/are} anything but {-bad}.
"""

PAIRS = """
falta: No {le/les} falta nada. => {it lacks/they lack} nothing. // {le/les} falta de todo. => {it lacks/they lack} everything.
sabor: No {le/les} falta {sabor|color|gracia}. => {it does/they do} not lack {flavor|color|charm}. // {le/les} falta {sabor|color|gracia}. => {it lacks/they lack} {flavor|color|charm}.
gustó: Me {gustó/gustaron} mucho. => I liked {it/them} a lot. // No me {gustó/gustaron} nada_ADV. => I did not like {it/them} at all.
cambiar: No {le/les} cambiaría nada. => I would not change anything about {it/them}. // {le/les} cambiaría casi todo. => I would change almost everything about {it/them}.
volver: Volvería a {preparar+dish} sin pensarlo. => I would make {it/them} again without a second thought. // No volvería a {preparar+dish}. => I would not make {it/them} again.
dudar: No dudo que volveré a {preparar+dish}. => I do not doubt that I will make {it/them} again. // Dudo que vuelva a {preparar+dish}. => I doubt that I will make {it/them} again.
arrepentir: No me arrepiento de {haber+dish} preparado. => I do not regret having made {it/them}. // Me arrepiento de {haber+dish} preparado. => I regret having made {it/them}.
sobras: No sobró nada en los platos. => Nothing was left on the plates. // Sobró casi todo en los platos. => Almost everything was left on the plates.
quejas: Nadie en la mesa se quejó. => Nobody at the table complained. // Todos en la mesa se quejaron. => Everyone at the table complained.
repetir: Todos quisieron repetir. => Everyone wanted seconds. // Nadie quiso repetir. => Nobody wanted seconds.
pena: Aunque tardé {una hora|dos horas}, valió la pena. => Although it took me {an hour|two hours}, it was worth it. // Aunque tardé {una hora|dos horas}, no valió la pena. => Although it took me {an hour|two hours}, it was not worth it.
recomendar: Se {lo~dish} recomiendo a todos. => I recommend {it/them} to everyone. // No se {lo~dish} recomiendo a nadie. => I do not recommend {it/them} to anyone.
salir: No podría haber salido mejor. => It could not have gone better. // No podría haber salido peor. => It could not have gone worse.
falla: Esta receta no falla nunca. => This recipe never fails. // Esta receta falla siempre. => This recipe always fails.
otra: No veo la hora de {preparar+dish} otra vez. => I cannot wait to make {it/them} again. // No quiero {preparar+dish} otra vez. => I do not want to make {it/them} again.
éxito: No fue un fracaso: fue un éxito. => It was not a failure: it was a success. // No fue un éxito: fue un fracaso. => It was not a success: it was a failure.
plato: Mis hijos no dejaron nada en el plato. => My children left nothing on the plate. // Mis hijos dejaron todo en el plato. => My children left everything on the plate.
queja: No tengo ninguna queja. => I have no complaints. // Tengo muchas quejas. => I have many complaints.
pasos: Seguí cada paso y todo salió bien. => I followed each step and everything went well. // Seguí cada paso y nada salió bien. => I followed each step and nothing went well.
mejor: Es imposible que {quede/queden} mejor. => It is impossible for {it/them} to turn out better. // Es imposible que {quede/queden} peor. => It is impossible for {it/them} to turn out worse.
costar: Costó poco y valió mucho. => It cost little and was worth a lot. // Costó mucho y valió poco. => It cost a lot and was worth little.
puntos: No merece menos de diez puntos. => It deserves no less than ten points. // No merece más de dos puntos. => It deserves no more than two points.
parar: No pude dejar de {comer+dish}. => I could not stop eating {it/them}. // No pude {comer+dish}. => I could not eat {it/them}.
pedir: Mi familia pide que {lo~dish} prepare de nuevo. => My family asks me to make {it/them} again. // Mi familia pide que no {lo~dish} prepare de nuevo. => My family asks me not to make {it/them} again.
tiempo: No fue una pérdida de tiempo. => It was not a waste of time. // Fue una pérdida de tiempo. => It was a waste of time.
problema: El problema es que se {acabó/acabaron} enseguida. => The problem is that {it was/they were} gone right away. // El problema es que no se {acabó/acabaron} nunca. => The problem is that {it was/they were} never gone.
invitados: Los invitados pidieron la receta. => The guests asked for the recipe. // Los invitados no pidieron la receta. => The guests did not ask for the recipe.
gana: Cada bocado da ganas de otro. => Each bite makes you want another. // Ningún bocado da ganas de otro. => No bite makes you want another.
gustó_todos: A todos les {gustó/gustaron} mucho. => Everyone liked {it/them} a lot. // A nadie le {gustó/gustaron} nada_ADV. => Nobody liked {it/them} at all.
queja_nadie: Nadie tiene ninguna queja. => Nobody has any complaint. // Todos tienen alguna queja. => Everyone has some complaint.
repetir_hijos: Mis hijos quisieron repetir. => My children wanted seconds. // Mis hijos no quisieron repetir. => My children did not want seconds.
recomendar_simple: {Lo~dish} recomiendo. => I recommend {it/them}. // No {lo~dish} recomiendo. => I do not recommend {it/them}.
salir_todo: Todo salió bien. => Everything went well. // Nada salió bien. => Nothing went well.
plato_nadie: Nadie dejó nada en el plato. => Nobody left anything on the plate. // Todos dejaron casi todo en el plato. => Everyone left almost everything on the plate.
arrepentir_seguir: Seguí cada paso y no me arrepiento. => I followed each step and I do not regret it. // Seguí cada paso y me arrepiento. => I followed each step and I regret it.
éxito_simple: Fue un éxito. => It was a success. // Fue un fracaso. => It was a failure.
pena_simple: Valió la pena. => It was worth it. // No valió la pena. => It was not worth it.
familia: A mi familia le {gustó/gustaron} mucho. => My family liked {it/them} a lot. // A mi familia no le {gustó/gustaron} nada_ADV. => My family did not like {it/them} at all.
"""

OPENINGS = """
{Lo~dish} preparé {el domingo|el sábado|ayer|anoche}. => I made {it/them} {on Sunday|on Saturday|yesterday|last night}.
Seguí la receta al pie de la letra. => I followed the recipe to the letter.
Buscaba {un dish} para {la cena|el almuerzo|una fiesta}. => I was looking for {a dish} for {dinner|lunch|a party}.
Preparé {dish} para {cuatro|seis|ocho} personas. => I made {dish} for {four|six|eight} people.
Es la {primera|segunda|tercera} vez que preparo {dish}. => It is the {first|second|third} time I have made {dish}.
Preparé {dish} con mi {hermano|madre|abuela}. => I made {dish} with my {brother|mother|grandmother}.
"""

CLOSINGS = """
Tardé {media hora|una hora|dos horas}. => It took me {half an hour|an hour|two hours}.
Anoté la receta en {mi cuaderno|una libreta}. => I wrote the recipe down in {my notebook|a notepad}.
La receta es de mi {vecina|abuela|tía}. => The recipe is from my {neighbor|grandmother|aunt}.
{Lo~dish} serví con {side}. => I served {it/them} with {side}.
Usé la mitad de {garnish}. => I used half of {garnish}.
"""


# --------------------------------------------------------------------------- opiniones largas
#
# Una opinión larga es un nexo con una o dos frases. X es la frase que el nexo desmiente; Y, la que
# da el veredicto; Z, otra del mismo lado que Y. Cada frase es una forma con su verbo, o un dicho.
# El signo «*» marca lo que solo puede decir quien opina: no cabe en boca de otro.

# forma|español|inglés: V es el verbo; A, un adjetivo del lado de la frase; B y C, del contrario;
# P y N, la traducción del verbo, afirmada y negada.
FORMS = """
simple|V A|P A
doble|V tan A como A2|P as A as A2
nada|no V nada_ADV B|N B at all
ni|no V ni B ni C|P neither B nor C
menos|V todo menos B|P anything but B
tuvo|de B no {tuvo/tuvieron} nada|there was nothing B about {it/them}
modo|de ningún modo V B|P by no means B
nadie|nadie dijo que {estuviera/estuvieran} B|nobody said that {it was/they were} B
cierto*|no es cierto que {estuviera/estuvieran} B|it is not true that {it was/they were} B
jamás*|jamás diría que V B|I would never say that P B
sino|no V B, sino A|N B, but A
dicho||
"""

COPULAS = """
{quedó/quedaron}|{it/they} turned out|{it/they} did not turn out
{resultó/resultaron}|{it/they} proved to be|{it/they} did not prove to be
{estaba/estaban}|{it was/they were}|{it was/they were} not
*me {pareció/parecieron}|I found {it/them}|I did not find {it/them}
"""

SAYINGS = """
no {le/les} faltó nada => {it/they} lacked nothing // {le/les} faltó de todo => {it/they} lacked everything
valió la pena => it was worth it // no valió la pena => it was not worth it
fue un éxito => it was a success // fue un fracaso => it was a failure
todo salió bien => everything went well // nada salió bien => nothing went well
nadie se quejó => nobody complained // todos se quejaron => everyone complained
todos quisieron repetir => everyone wanted seconds // nadie quiso repetir => nobody wanted seconds
nadie dejó nada en el plato => nobody left anything on the plate // todos dejaron casi todo en el plato => everyone left almost everything on the plate
no fue una pérdida de tiempo => it was not a waste of time // fue una pérdida de tiempo => it was a waste of time
los invitados pidieron la receta => the guests asked for the recipe // los invitados no pidieron la receta => the guests did not ask for the recipe
a mi familia le {gustó/gustaron} mucho => my family liked {it/them} a lot // a mi familia no le {gustó/gustaron} nada_ADV => my family did not like {it/them} at all
*me {gustó/gustaron} mucho => I liked {it/them} a lot // *no me {gustó/gustaron} nada_ADV => I did not like {it/them} at all
*no {le/les} cambiaría nada => I would not change anything about {it/them} // *{le/les} cambiaría casi todo => I would change almost everything about {it/them}
*volvería a {preparar+dish} => I would make {it/them} again // *no volvería a {preparar+dish} => I would not make {it/them} again
"""

# nexo|español|inglés|posiciones en que habla otro|formas que no le van bien
LINKS = """
sola|Y|Y||
verdad|la verdad es que Y|the truth is that Y||
todos|todos en mi casa dijeron que Y|everyone at home said that Y|Y|nadie
receta|la receta es clara y Y|the recipe is clear and Y||
razón|me dijeron que Y y tenían razón|they told me that Y and they were right|Y|nadie
equivocaron|me dijeron que X y se equivocaron|they told me that X and they were wrong|X|nadie
falso|es falso que X|it is false that X|X|nadie
mentira|mi vecina dijo que X y era mentira|my neighbor said that X and it was a lie|X|nadie
lejos|lejos de quedar B, Y|far from turning out B, Y||
vez|en vez de quedar B, Y|instead of turning out B, Y||
además|Y y, además, Z|Y and, what is more, Z||
pero|X, pero Y|X, but Y||
aunque|aunque X, Y|although X, Y||
aunque_final|Y, aunque X|Y, although X||
primera|la primera vez X; esta vez Y|the first time X; this time Y||jamás cierto
principio|al principio X, pero al final Y|at first X, but in the end Y||jamás cierto
hermana|según mi hermana, X; según yo, Y|according to my sister, X; in my view, Y|X|nadie
dijeron|me dijeron que X, pero Y|they told me that X, but Y|X|nadie
creía|yo creía que X y, al final, Y|I believed that X and, in the end, Y|X|cierto
"""

# Apartadas para evaluar: la forma dicha no aparece nunca, en entrenamiento, en esa posición de ese
# nexo. Cada forma apartada de un nexo sí aparece con los demás.
HELD_OUT = """
verdad: Y nada ni sino
todos: Y menos simple
receta: Y modo dicho
razón: Y tuvo dicho
equivocaron: X ni menos
falso: X tuvo sino
mentira: X nada dicho
lejos: Y jamás dicho menos
vez: Y nada tuvo cierto
además: Y ni sino | Z dicho nadie
pero: X modo sino | Y ni tuvo
aunque: X nada dicho | Y menos jamás
aunque_final: X ni cierto | Y nadie doble
primera: X menos tuvo | Y nada modo
principio: X dicho nada | Y simple ni
hermana: X tuvo simple | Y menos cierto
dijeron: X nada modo | Y jamás dicho
creía: X doble ni | Y tuvo nada
"""
