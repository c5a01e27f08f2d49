"""Invertir cadenas más largas que las leídas.

La segunda de las tareas de Dehghani et al. (2018, §3.4), a nuestra medida: entra una cadena de cifras, y hay que escribirla de atrás adelante. Lo demás es lo del experimento `copying`: de 1 a 8 cifras al entrenar, cada cadena desde una posición sorteada; 8, 16 y 32 en la prueba; los mismos modelos, y cinco tasas para cada uno. Se dan 900 pasos de entrenamiento en vez de 500: con 500, unos modelos no invertían bien ni las cadenas de 8.

Para copiar, cada cifra se escribe donde está. Para invertir, la primera que se escribe es la última que se leyó: hay que saber dónde acaba la cadena, y contar desde ahí hacia atrás. «Repetir lo que entra» no se entrena: acierta una cifra de cada diez, como el azar.
"""  # noqa: E501

from benchmarks.experiments.copying import experiment
from course_lib.data.algorithmic import reverse

EXPERIMENT = experiment(reverse, 900)
