"""Lo escrito a mano para las cinco tareas supervisadas; lo lee ``tasks``.

La notación de las plantillas es la de ``_grammar``. Las tareas no se traducen: aquí falta el
«=> inglés».
"""

# ruff: noqa: E501

# Grupos de ingredientes que se cortan y se cuecen.

SOLID = "root bulb vegetable mushroom meat fish seafood cured tofu"

# Lo que hay en toda cocina, aunque la lista no lo diga: no sirve de ingrediente ajeno.

ALWAYS = "agua"

# Lo que se pone en las oraciones con palabras de dos categorías.

EDIBLE = (
    SOLID + " leaf legume_fresh pulse grain pasta fruit citrus berry nut dried_fruit hard_cheese "
    "soft_cheese minced egg"
)

# --------------------------------------------------------------------------- cortes y tiempos
#
# Cada corte y cada tiempo se da por igual a cualquier ingrediente: la afirmación sola no dice si
# es cierta.

CUTS = """
cubos|cubos pequeños|cubos medianos|cubos grandes
tiras|tiras finas
rodajas|rodajas finas
láminas|láminas finas
trozos|trozos pequeños|trozos medianos|trozos grandes
gajos|gajos finos
"""

CUT_STEPS = """
Corta {x} en {-value}.
Limpia {x} y {corta+x} en {-value}.
Lava {x} y {corta+x} en {-value}.
"""

CUT_STATEMENTS = """
{x} se {corta/cortan~x} en {-value}.
Se {corta/cortan~x} {x} en {-value}.
"""

MINUTES = "3 4 5 6 8 10 12 15 18 20 25 30 35 40 45 50"

# singular | plural
TIME_VERBS = """
cuece|cuecen
cocina|cocinan
hierve|hierven
saltea|saltean
asa|asan
hornea|hornean
dora|doran
"""

# --------------------------------------------------------------------------- afirmaciones

CONTAINS = """
Lleva {}.
La receta lleva {}.
Esta receta se hace con {}.
"""

# --------------------------------------------------------------------------- preguntas
#
# clase (con su determinante interrogativo) | grupos que se preguntan | grupos que podrían confundir

CLASSES = """
Qué hierba|herb dry_herb|
Qué queso|hard_cheese soft_cheese|
Qué carne|meat|minced cured
Qué pescado|fish|
Qué marisco|seafood|
Qué fruta|fruit citrus berry|dried_fruit
Qué especia|spice sweet_spice|
Qué grasa|cooking_fat|dairy
Qué legumbre|pulse|legume_fresh
Qué hongo|mushroom|
"""

# --------------------------------------------------------------------------- palabras de dos categorías
#
# Con «*», la plantilla solo sale en la evaluación; cada palabra sale con esa misma categoría en
# otras plantillas del entrenamiento.

WORD_TAGS = {
    "VERB": "cuida huele probó usa va vuelve cenar reposa "
    "hornean asan doran cuecen cocinan hierven saltean",
    "ADJ": "fino finos larga largo perfecta perfecto",
    "NOUN": "caldo carne cebolla grifo pan",
    "ADP": "después",
}

AMBIGUOUS = """
La cocina_NOUN huele a {-x}.
Cocina_VERB {x} con cuidado.
Mi abuela cocina_VERB {x} cada domingo.
Lava {x} en la cocina_NOUN.
* Lleva {x} a la cocina_NOUN.
* Mi hermana cocina_VERB {x} muy bien.
La sal_NOUN va con {x}.
Agrega la sal_NOUN y prueba_VERB {x}.
Sal_VERB de la cocina_NOUN con {x}.
Sal_VERB y pela {x}.
* Mide la sal_NOUN y reserva {x}.
* Sal_VERB con {x} y cierra el horno.
El vino_NOUN acompaña {x}.
Riega {x} con el vino_NOUN.
Mi tía vino_VERB con {x}.
La vecina vino_VERB y probó {x}.
* Mi hermano vino_VERB a cenar {x}.
* Marina {x} en el vino_NOUN.
Corta_VERB {x} en tiras.
La vecina corta_VERB {x} en cubos.
La receta de {-x} es corta_ADJ.
Es una receta corta_ADJ con {-x}.
* Mi madre corta_VERB {x} y cocina_VERB la pasta.
* La cena con {-x} fue corta_ADJ.
La prueba_NOUN de {-x} salió bien.
Prueba_VERB {x} con sal_NOUN.
Fue una prueba_NOUN con {-x}.
Mi hermana prueba_VERB {x} y la sal_NOUN.
* La prueba_NOUN con {x} no falla.
* Mi madre prueba_VERB {x} enseguida.
Vierte la mezcla_NOUN sobre_ADP {x}.
Mezcla_VERB {x} con la masa.
La mezcla_NOUN lleva {-x} y sal_NOUN.
Mi abuela mezcla_VERB {x} con vino_NOUN.
* La mezcla_NOUN de {-x} es espesa.
* El tenedor mezcla_VERB {x} y la salsa.
Quita la tapa_NOUN y agrega {x}.
Tapa_VERB {x} con un paño.
La tapa_NOUN de la olla está junto a {x}.
Mi vecina tapa_VERB {x} con papel.
* Lava la tapa_NOUN y seca_VERB {x}.
* La abuela tapa_VERB {x} y espera_VERB.
La sartén limpia_ADJ es para_ADP {x}.
Limpia_VERB {x} y la sartén.
Usa una olla limpia_ADJ para_ADP {x}.
Mi hermano limpia_VERB {x} y vuelve.
* Coloca {x} en una bandeja limpia_ADJ.
* La vecina limpia_VERB {x} en casa.
La masa seca_ADJ no va con {x}.
Seca_VERB {x} con un paño.
Reparte {x} en una fuente seca_ADJ.
Mi madre seca_VERB {x} con papel.
* Coloca {x} en la sartén seca_ADJ.
* La tía seca_VERB {x} y corta_VERB la masa.
La jarra llena_ADJ está junto a {x}.
Llena_VERB la olla y agrega {x}.
Es una fuente llena_ADJ con {x}.
El agua llena_VERB la olla de {-x}.
* La olla llena_ADJ lleva {-x}.
* Mi tía llena_VERB la fuente con {x}.
Usa una olla baja_ADJ para_ADP {x}.
Baja_VERB el fuego y agrega {x}.
La sartén baja_ADJ es mejor para_ADP {x}.
Mi hermana baja_VERB el fuego y sirve {x}.
* Coloca {x} en una fuente baja_ADJ.
* El horno baja_VERB y {x} reposa.
La espera_NOUN con {x} fue corta_ADJ.
Espera_VERB y sirve {x}.
Fue una espera_NOUN sin {x}.
La familia espera_VERB {x} en la mesa.
* La espera_NOUN de {-x} es larga.
* Mi madre espera_VERB con {x} en la cocina_NOUN.
La cena_NOUN fue {-x}.
Mi hermano cena_VERB {x} con vino_NOUN.
Sirve {x} en la cena_NOUN.
La vecina cena_VERB {x} y pan.
* Prepara {x} para_ADP la cena_NOUN.
* Mi familia cena_VERB {x} cada sábado.
Usa un sobre_NOUN de caldo con {x}.
Reparte la salsa sobre_ADP {x}.
El sobre_NOUN lleva {-x} y sal_NOUN.
Sirve la mezcla_NOUN sobre_ADP {x}.
* Abre el sobre_NOUN y agrega {x}.
* Ralla nuez sobre_ADP {x}.
Para_VERB el horno y saca {x}.
Para_ADP la cena_NOUN, sirve {x}.
El horno para_VERB y mi madre saca {x}.
Prepara {x} para_ADP la familia.
* La licuadora para_VERB y agrega {x}.
* Reserva {x} para_ADP mi tía.
Cocina_VERB {x} a fuego bajo_ADJ.
Coloca {x} bajo_ADP el grifo.
Usa un molde bajo_ADJ para_ADP {x}.
Deja {x} bajo_ADP la tapa_NOUN.
* Dora {x} en un horno bajo_ADJ.
* Guarda {x} bajo_ADP un paño.
Como_VERB {-x} cada sábado.
Pica {x} como_SCONJ mi tía.
Yo como_VERB {-x} con vino_NOUN.
Prepara {x} como_SCONJ mi abuela.
* Siempre como_VERB {-x} en la cena_NOUN.
* Corta_VERB {x} como_SCONJ la vecina.
La picada_NOUN lleva {-x} y pan.
Agrega {x} y la cebolla picada_ADJ.
Prepara una picada_NOUN con {x}.
La carne picada_ADJ acompaña {x}.
* Sirve la picada_NOUN junto a {x}.
* Reparte la nuez picada_ADJ sobre_ADP {x}.
Forma_VERB bolas con {x}.
Da forma_NOUN a {x} con las manos.
Mi hermana forma_VERB bolas de {-x}.
La forma_NOUN de {x} es perfecta.
* La masa forma_VERB una capa sobre_ADP {x}.
* Cuida la forma_NOUN de {x}.
Pasa_VERB {x} por la masa.
Agrega una pasa_NOUN y {x}.
Mi madre pasa_VERB {x} a la fuente.
La pasa_NOUN va con {x}.
* La vecina pasa_VERB {x} por agua.
* Pica una pasa_NOUN con {x}.
Parte_VERB {x} por la mitad.
Guarda una parte_NOUN de {x}.
Mi abuela parte_VERB {x} en trozos.
La última parte_NOUN lleva {-x}.
* Mi tía parte_VERB {x} con cuidado.
* Reserva la primera parte_NOUN de {x}.
El guiso_NOUN lleva {-x}.
Yo guiso_VERB {x} cada domingo.
Sirve el guiso_NOUN con {x}.
Siempre guiso_VERB {x} a fuego bajo_ADJ.
* Cubre el guiso_NOUN con {x}.
* Cuando guiso_VERB {x}, la cocina_NOUN huele bien.
Deja {x} en remojo_NOUN.
Yo remojo_VERB {x} en vino_NOUN.
El remojo_NOUN de {x} es largo.
Antes remojo_VERB {x} en agua.
* Saca {x} del remojo_NOUN.
* Siempre remojo_VERB {x} en casa.
El corte_NOUN de {x} es fino.
Deja que mi tía corte_VERB {x}.
Prueba_VERB otro corte_NOUN para_ADP {x}.
Quiero que la vecina corte_VERB {x}.
* Cada corte_NOUN de {x} es perfecto.
* Espera_VERB a que mi madre corte_VERB {x}.
Mi abuela la_PRON cocina_VERB con {x}.
Mi tía la_PRON prueba_VERB con {x}.
La vecina la_PRON tapa_VERB y sirve {x}.
Mi hermano la_PRON limpia_VERB y guarda {x}.
La madre la_PRON corta_VERB junto a {x}.
* Mi hermana la_PRON mezcla_VERB con {x}.
* Mi vecina la_PRON cocina_VERB sin {x}.
* La tía la_PRON seca_VERB y agrega {x}.
"""
